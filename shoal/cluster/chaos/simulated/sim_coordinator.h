// SimCoordinator: a coordinator with failover, in virtual time. Requests and FailoverPolicy decide,
// as in a real one; this class stands in for its threads and sockets.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shoal/cluster/chaos/simulated/retire_plans.h"
#include "shoal/cluster/chaos/simulated/sim_worker.h"

namespace shoal::chaos {

class SimCoordinator {
 public:
  // Called with the outcome of each request.
  using Ended = std::function<void(uint64_t request, const cluster::RequestOutcome&)>;

  SimCoordinator(World& world, std::vector<std::unique_ptr<SimWorker>>& workers, Ended ended);

  void start();  // reaches all workers, and begins to make plans
  void stop() { over_ = true; }
  uint64_t submit(size_t input, Time timeout);
  // From now on plans are of the next version of the model.
  void upgrade();

  const Ear& ear() const { return ear_; }

 private:
  // A plan that its workers are being told of.
  struct Deploying {
    cluster::Workers set, uses, awaited;
    uint64_t id = 0;
    std::optional<int> restored = {};  // the one that is given again what the others have
    bool given = false;                // it has it, and the others are told
  };

  void look_for_the_lost();
  void reach(int worker);
  void lose(int worker);
  void mend();
  bool restore();
  void deploy_to(int worker, const cluster::Workers& set, const cluster::DeployedPlanPtr& deployed);
  void go_on_restoring();
  bool is_expected_back();
  void begin_to_deploy(const cluster::Workers& set);
  void finish_deploying();
  void stop_deploying();
  void withdraw(uint64_t plan);
  void retire();
  void pump();
  void carry_out(cluster::RequestStep step);
  void send_inputs(const cluster::Attempt& attempt, const std::vector<size_t>& sends);
  void tell(const cluster::DeployedPlanPtr& deployed, const std::function<void(SimWorker&)>& what);
  cluster::Workers present() const;
  bool is_whole(uint64_t plan) const { return requests_.is_whole(plan); }
  cluster::Requests::Time now() const { return cluster::Requests::Time(world_.clock.now()); }

  World& world_;
  std::vector<std::unique_ptr<SimWorker>>& workers_;
  const Ended ended_;
  Ear ear_;
  bool over_ = false;
  size_t version_ = 0;
  std::map<int, ConnectionPtr> links_;
  cluster::Requests requests_;
  cluster::FailoverPolicy policy_{true};
  std::optional<Deploying> deploying_;
  std::map<uint64_t, cluster::DeployedPlanPtr> deployed_plans_;
  std::map<uint64_t, std::pair<size_t, cluster::Workers>> made_for_;  // version and set, by plan
  RetiredPlans retired_;
  Time lost_at_{0};                  // time of the latest loss
  std::map<uint64_t, size_t> open_;  // requests, and their inputs
  uint64_t next_plan_ = 1;
};

}  // namespace shoal::chaos
