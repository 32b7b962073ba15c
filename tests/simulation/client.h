// Client: a machine that coordinates. It deploys the model once or twice, restores the deployments,
// and sends requests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "world.h"

namespace shoal::simulation {

struct ClientOptions {
  std::string name;
  bool is_exclusive = false;
  int deployments = 1;
  bool standby = false;
  std::chrono::milliseconds retry_interval{100}, grace{0};
};

// Called by machine 0 only.
class Client {
 public:
  Client(World& world, ClientOptions options);

  void start();
  // Begins a request, if there is a deployment yet. With `is_last`, it has to be answered.
  void ask(std::chrono::milliseconds timeout, bool is_last = false);
  // Deploys a plan that measures, and measures a request.
  void measure(std::chrono::milliseconds timeout);
  // Has plans made again, of the next version of the model. Answers may be of either from now on.
  void upgrade();
  void end();  // when nothing is under way any more
  void kill();
  // Another coordinator has a later epoch: its requests may fail from now on.
  void fence() { fenced_ = true; }

  bool is_ready() const { return ready_; }
  bool is_dead() const { return dead_; }
  bool is_fenced() const { return fenced_; }
  bool has_ended() const { return ended_; }
  bool is_busy() const { return under_way_ > 0; }
  int machine() const { return machine_; }
  bool is_exclusive() const { return options_.is_exclusive; }

 private:
  void live();
  bool connect();
  bool deploy();
  void run_request(size_t deployment, std::chrono::milliseconds timeout, bool is_last);
  void run_measured(std::chrono::milliseconds timeout);
  struct Asked {
    std::string what;
    Nanos deadline = 0;
    bool has_to_answer = false;   // nothing has happened that excuses a failure
    bool may_be_refused = false;  // too much may be under way
    size_t input = draw(Scene::kInputs);
    std::vector<Tensor> outputs = std::vector<Tensor>(1);
  };
  void judge(const Status& status, const Asked& asked);
  // Checks the error of a failed deployment.
  void judge_deployment(const Status& status) const;

  World& world_;
  const ClientOptions options_;
  const int machine_;
  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::vector<std::unique_ptr<cluster::FailoverDeployment>> deployments_;
  int under_way_ = 0;
  bool ready_ = false, over_ = false, ended_ = false, dead_ = false, fenced_ = false,
       upgraded_ = false;
};

}  // namespace shoal::simulation
