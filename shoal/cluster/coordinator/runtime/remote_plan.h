// RemotePlan: a plan that its workers have. Coordinator::deploy() makes it.
#pragma once

#include <chrono>
#include <span>
#include <stop_token>
#include <vector>

#include "shoal/cluster/coordinator/runtime/plan_deployer.h"

namespace shoal::cluster {

// Thread-safe: any number of requests may be on their way by it at once.
class RemotePlan {
 public:
  // Releases it on its workers. REQUIRES: no request is on its way, and the coordinator is there.
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
  // kCancelled soon after a stop is requested of `cancel`. `measured` stays as it was if the plan
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
  bool in_use() const { return runner_.in_use(id()); }          // by a request on its way
  // Gives it again to the workers that were lost and are back; the others keep theirs.
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

}  // namespace shoal::cluster
