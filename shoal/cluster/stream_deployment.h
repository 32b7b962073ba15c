// StreamDeployment: a model on a cluster for many requests at once, as many answers a second as the
// workers can give.
//
// plan::make_stream_plans() gives the plans that requests use in turn: stages, replicas, or both.
// All of them are deployed. After the loss of a worker, the first request that fails by it has
// plans made and deployed for the workers that are left; then it, and all that failed meanwhile,
// are tried once more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <vector>

#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/failover_policy.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {

// Thread-safe.
class StreamDeployment {
 public:
  // Makes plans that use these workers only. One call at a time, on any thread.
  using MakePlans = std::function<Result<plan::StreamPrediction>(const Workers&)>;

  // Makes and deploys the plans; ready to run when it returns. REQUIRES: the coordinator outlives
  // it.
  static Result<std::unique_ptr<StreamDeployment>> start(Coordinator& coordinator,
                                                         MakePlans make_plans);
  ~StreamDeployment();  // REQUIRES: no request is on its way

  // As FailoverDeployment::run(). Any number of requests may be on their way at once; it takes as
  // many as prediction().in_flight to keep all workers busy.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout, const std::stop_token& cancel = {});

  // The plans of start().
  const plan::StreamPrediction& prediction() const { return first_; }

 private:
  // Plans that are deployed, and used in turn.
  using Round = std::vector<std::unique_ptr<RemotePlan>>;
  using RoundPtr = std::shared_ptr<const Round>;

  StreamDeployment(Coordinator& coordinator, MakePlans make_plans, plan::StreamPrediction first)
      : coordinator_(coordinator), make_plans_(std::move(make_plans)), first_(std::move(first)) {}
  Result<RoundPtr> deploy(const plan::StreamPrediction& prediction) const;
  Result<RoundPtr> make_round(const Workers& workers) const;
  std::pair<RoundPtr, size_t> next_turn();
  // Replaces plans that failed, unless another request has done so already.
  Status replace(const RoundPtr& failed, net::Deadline deadline);
  Status await_loss(uint64_t seen, net::Deadline deadline, const Status& why);

  Coordinator& coordinator_;
  const MakePlans make_plans_;
  const plan::StreamPrediction first_;
  std::mutex replacing_;  // taken before mutex_
  std::mutex mutex_;      // of the rest
  std::condition_variable lost_;
  uint64_t losses_ = 0;  // that the coordinator has reported
  RoundPtr round_;
  size_t next_ = 0;
};

}  // namespace shoal::cluster
