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

#include "shoal/base/task_thread.h"
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

  // As FailoverDeployment::run(), also while plans are replaced. Any number of requests may be on
  // their way at once; it takes as many as prediction().in_flight to keep all workers busy.
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
  // Waits until plans that failed have been replaced, which the first to ask begins.
  Status replace(const RoundPtr& failed, net::Deadline deadline);
  void make_replacement(const RoundPtr& failed);
  Result<RoundPtr> await_replacement();

  Coordinator& coordinator_;
  const MakePlans make_plans_;
  const plan::StreamPrediction first_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t losses_ = 0;  // that the coordinator has reported
  RoundPtr round_;
  size_t next_ = 0;
  const Round* replaced_ = nullptr;  // the plans that are being replaced
  Status replacement_;               // why the latest replacement failed
  bool over_ = false;
  TaskThread replacer_;  // first to go: it uses the rest
};

}  // namespace shoal::cluster
