// Coordinator: the side of a cluster that has the models. It connects to the workers, gives each
// its part of a plan, sends requests in and collects the answers.
//
// The work is done by four classes, each in a file of its own: WorkerLinks keeps the connections,
// PlanDeployer gives plans to workers, RequestRunner carries requests out, TaskChannel has the
// messages of tasks (task_run.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/runtime/plan_deployer.h"
#include "shoal/cluster/coordinator/runtime/request_runner.h"
#include "shoal/cluster/coordinator/runtime/task_channel.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// A plan that its workers have. Coordinator::deploy() makes it.
// Thread-safe: any number of requests may be in progress by it at once.
class RemotePlan {
 public:
  // Releases it on its workers. REQUIRES: no request is in progress, and the coordinator exists.
  ~RemotePlan() { deployer_.release(*deployed_); }
  RemotePlan(const RemotePlan&) = delete;
  RemotePlan& operator=(const RemotePlan&) = delete;

  // Sends the request and waits for the answer and, if `measured` is given, for all times. These
  // errors are worth another try:
  //
  //   kUnavailable  a worker was lost; the message names it
  //   kDeadline     no answer came within `timeout`; the message names the workers it waited for
  //   kExhausted    refused at once: too many requests, see RequestOptions::retry_after
  //
  // kCancelled soon after a stop is requested of `cancel`. `measured` is left alone if the plan
  // broke, or was released, between the answer and the last of the times. REQUIRES: inputs and
  // outputs are those of the graph; a measured plan was deployed as traced.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, plan::Timeline* measured = nullptr,
             const std::stop_token& cancel = {}) {
    return runner_.run(deployed_->id, inputs, outputs,
                       {.timeout = timeout, .cancel = cancel, .measured = measured});
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RequestOptions& options) {
    return runner_.run(deployed_->id, inputs, outputs, options);
  }

  uint64_t id() const { return deployed_->id; }
  const std::vector<int>& workers() const { return workers_; }  // that it uses, in order
  bool is_whole() const { return runner_.is_whole(id()); }      // all of them still have it
  bool in_use() const { return runner_.in_use(id()); }          // by a request in progress
  // Deploys it again on workers that were lost and are back; the others keep theirs.
  Status restore() { return deployer_.restore(id(), *encoded_, traced_); }

 private:
  friend class Coordinator;
  RemotePlan(PlanDeployer& deployer, RequestRunner& runner, DeployedPlanPtr deployed,
             EncodedPlanPtr encoded, bool traced);

  PlanDeployer& deployer_;
  RequestRunner& runner_;
  const DeployedPlanPtr deployed_;
  const EncodedPlanPtr encoded_;
  const bool traced_;
  const std::vector<int> workers_;
};

namespace message {
class State;
}

struct CoordinatorOptions {
  // Nonzero: this coordinator is in charge alone. Workers disconnect coordinators of an earlier
  // epoch, and refuse them, and others that claim the same one, with an error that names the one
  // they follow. Zero: it shares its workers.
  uint64_t epoch = 0;
  // Called when a worker refuses for that reason, with the epoch it follows. On any thread.
  std::function<void(uint64_t latest)> outranked = nullptr;
  // Continue without workers that do not answer: these are lost from the beginning, and missing()
  // says why. Otherwise one that does not answer is an error.
  bool partial = false;
  // For connecting to all workers together. Long enough for a radio that sleeps; a device without
  // power should not delay the others for longer.
  std::chrono::milliseconds connect_timeout{2'000};
  // Called when a request is about to begin (worker: plan::kCoordinator), and when a part of an
  // answer has come from a worker. For fault injection.
  std::function<void(FaultPoint, int worker)> reached = nullptr;
  DeployOptions deploy = {};
};

// Thread-safe.
class Coordinator {
 public:
  // Connects to all workers at the same time. Workers are numbered in this order. Fails with the
  // first worker's error if one does not answer or, if `partial`, if none does. REQUIRES: the
  // transport outlives the coordinator.
  static Result<std::unique_ptr<Coordinator>> connect(std::span<const ListedWorker> workers,
                                                      net::Transport& transport,
                                                      CoordinatorOptions options = {});
  // REQUIRES: all its RemotePlans are destroyed.
  ~Coordinator();

  size_t worker_count() const { return links_.size(); }  // including lost workers
  std::vector<WorkerInfo> workers() const { return links_.infos(); }
  // The error of each worker that did not answer when the coordinator connected, with its name.
  const std::vector<Status>& missing() const { return missing_; }
  std::vector<int> lost() const { return links_.lost(); }  // by number
  Workers present() const;                                 // the others
  // Connects to a lost worker, or to all of them. They have no plans then.
  Status revive(int worker) { return links_.revive(worker); }
  // Except those in `except`. Returns how many are back.
  size_t revive_lost(const Workers& except = {}) { return links_.revive_lost(except); }
  // Asks all workers for the load of their machines. The answers appear in workers() soon after.
  void ask_for_load() const;
  // Registers `watcher` under the key `who`; it is invoked when a worker or a plan is lost. nullptr
  // unregisters it. REQUIRES: `watcher` does not call the coordinator.
  void watch(const void* who, std::function<void()> watcher) {
    runner_.watch(who, std::move(watcher));
  }
  // From now on sends these workers a small message every `interval` while a request is in
  // progress, so that their radios stay awake.
  void keep_awake(std::vector<int> workers, std::chrono::milliseconds interval) {
    runner_.keep_awake(std::move(workers), interval);
  }
  // Keeps radios awake while the result lives, without a request.
  std::shared_ptr<void> stay_awake() { return runner_.stay_awake(); }
  TaskChannel& tasks() { return tasks_; }
  // Disconnects a worker, which is lost from then on, for this reason.
  void leave_out(int worker, const Status& why);
  // Checks one answered request of every `interval` for lies, by plans that are encoded from now on
  // and survive losses. 0: none. See Checks.
  void check_every(uint64_t interval) { runner_.check_every(interval); }
  std::vector<DisputedRequest> take_disputed() { return runner_.take_disputed(); }
  Checks::Tally checks() const { return runner_.checks_tally(); }
  net::Traffic traffic() const { return links_.traffic(); }  // over all connections to workers
  Tally tally() const { return runner_.tally(); }

  // Fails if the plan does not fit these workers.
  Result<EncodedPlanPtr> encode(const plan::ScheduledPlan& scheduled) const {
    return deployer_.encode(scheduled);
  }
  // Sends the plan, and the weights that workers lack. Ready to run when it returns. Only a traced
  // plan can be measured.
  Result<std::unique_ptr<RemotePlan>> deploy(EncodedPlanPtr encoded, bool traced = false);
  Result<std::unique_ptr<RemotePlan>> deploy(const plan::ScheduledPlan& scheduled,
                                             bool traced = false);
  Result<std::unique_ptr<RemotePlan>> deploy(const Graph& graph, const plan::Plan& plan,
                                             bool traced = false);

  // A number for a service, several plans that compute the same: see Requests.
  uint64_t make_service() { return deployer_.make_id(); }
  RequestRunner& requests() { return runner_; }

 private:
  Coordinator(std::span<const ListedWorker> workers, std::vector<Result<GreetedWorker>> greeted,
              net::Transport& transport, EpochClaim epoch, CoordinatorOptions options);
  LinkEvents events();
  void take_state(int worker, const message::State& state);
  Result<net::Buffer> place(int worker, net::Bytes control, size_t bytes);
  Status handle(int worker, net::Role role, const net::Frame& frame);

  const std::vector<Status> missing_;
  WorkerLinks links_;  // closed before the rest ends
  RequestRunner runner_;
  PlanDeployer deployer_;
  TaskChannel tasks_{links_};
};

}  // namespace shoal::cluster
