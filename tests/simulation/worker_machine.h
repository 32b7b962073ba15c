// WorkerMachine: a machine with a worker, which is started, stopped and killed.
#pragma once

#include <memory>
#include <string>

#include "device.h"
#include "shoal/cluster/worker/worker.h"
#include "world.h"

namespace shoal::simulation {

// Called by machine 0 only.
class WorkerMachine {
 public:
  WorkerMachine(World& world, int number);

  void start();           // its machine is up when it returns
  void stop();            // as by SIGTERM; goes on while the caller does
  void kill(bool power);  // as by SIGKILL or, with `power`, by a power cut
  bool is_up() const { return worker_ != nullptr; }
  bool has_stopped() const { return worker_ == nullptr && !stopping_; }

  int machine() const { return machine_; }
  const std::string& name() const { return name_; }
  Pause& compiling() { return pace_->compile; }
  Pause& hearing() { return *hearing_; }  // before each plan and each input that it is sent

 private:
  void start_here();
  std::filesystem::path folder() const { return world_.folder / name_; }

  World& world_;
  const std::string name_;
  const int machine_;
  const std::shared_ptr<Pace> pace_ = std::make_shared<Pace>();
  const std::shared_ptr<Pause> hearing_ = std::make_shared<Pause>();
  // Plain pointers: what belonged to a machine that was killed is never destroyed.
  Device* device_ = nullptr;
  net::Transport* transport_ = nullptr;
  cluster::Worker* worker_ = nullptr;
  bool stopping_ = false;
};

}  // namespace shoal::simulation
