// SimWorker: a worker in virtual time. Its decisions are made by the code of a real one
// (Deployment).
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "shoal/cluster/chaos/simulated/sim_world.h"

namespace shoal::chaos {

// The messages of a worker to the coordinator.
struct Ear {
  std::function<void(int from, uint64_t plan)> ready;
  std::function<void(int from, uint64_t attempt, const plan::Piece&, const Tensor&)> data;
  std::function<void(int from, uint64_t attempt, const Status&, int unreached)> failed;
  std::function<void(int from, uint64_t plan, int cut_off)> cut;
};

class SimWorker {
 public:
  // The others are by number. All outlive it.
  SimWorker(World& world, int number, std::vector<std::unique_ptr<SimWorker>>& all, const Ear& ear)
      : world_(world), number_(number), all_(all), ear_(ear) {}

  // Messages of the coordinator, over this connection.
  void deploy(const ConnectionPtr& by, size_t version, const cluster::Workers& set,
              const cluster::DeployedPlan& deployed);
  void take(uint64_t plan, uint64_t attempt, const plan::Piece& piece, const Tensor& elements);
  void forget(uint64_t plan, uint64_t attempt);
  void release(uint64_t plan);
  void rejoin(uint64_t plan, int worker);
  void coordinator_gone(const ConnectionPtr& by);

  // Faults.
  void kill();
  void restart() { world_.network.restart(number_); }
  void stop() { world_.network.stop(number_); }
  void go_on();
  void slow_down(int times) { slowness_ = times; }

 private:
  struct SimPlan {
    ConnectionPtr coordinator;
    bool survives = false;
    std::unique_ptr<cluster::Deployment> deployment;
    std::map<int, ConnectionPtr> peers;
  };

  void connect_to_peers(SimPlan& worker_plan, uint64_t plan);
  void connect_to(SimPlan& worker_plan, uint64_t plan, int peer);
  void compute();
  void finish(uint64_t plan, const cluster::ReadyTask& task);
  void send(SimPlan& worker_plan, uint64_t plan, uint64_t attempt, const cluster::SendOrder& order,
            const Tensor& part);
  void say(const SimPlan& worker_plan, std::function<void()> what);
  cluster::Deployment::Time now() const { return cluster::Deployment::Time(world_.clock.now()); }
  void later(Time delay, std::function<void()> what);

  World& world_;
  const int number_;
  std::vector<std::unique_ptr<SimWorker>>& all_;
  const Ear& ear_;
  int life_ = 0;  // counts restarts: what an earlier one began does not happen
  int slowness_ = 1;
  bool busy_ = false;
  std::map<uint64_t, std::shared_ptr<SimPlan>> worker_plans_;
  std::vector<std::function<void()>> frozen_;  // until it goes on
};

}  // namespace shoal::chaos
