// BalancedStream: requests that follow each other through stages, which are moved while they do.
// The times that workers measure of themselves correct what is believed of them; work goes from the
// slowest to the idle. New stages are deployed beside the old ones, which end with the last request
// that began by them: none is lost.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/coordinator.h"
#include "shoal/plan/stream/balance.h"

namespace shoal::cluster {

class BalancedStream {
 public:
  // Ready to run when it returns. What the profile says is only where belief begins; times of
  // workers are divided by `dilation` first, where these are emulated in slow motion. Coordinator
  // and graph outlive the stream.
  static Result<std::unique_ptr<BalancedStream>> start(Coordinator& coordinator, const Graph& graph,
                                                       plan::ClusterProfile belief,
                                                       std::vector<plan::Stage> stages,
                                                       double dilation = 1);

  // Any number may be on their way at once.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout);

  // What workers took, as far as it was measured since the stages are what they are.
  std::vector<plan::WorkerReport> reports() const;

  // Learns, makes one move if it is worth it, and says which. One call at a time; requests go on
  // meanwhile, by the old stages until the new ones are deployed, and after a failure.
  Result<std::optional<std::string>> balance(std::span<const plan::WorkerReport> reports);

  const std::vector<plan::Stage>& stages() const { return balancer_.stages(); }

 private:
  // The plans that requests use in turn.
  using Round = std::vector<std::unique_ptr<RemotePlan>>;
  struct Sum {
    double seconds = 0;
    size_t requests = 0;
  };

  BalancedStream(Coordinator& coordinator, const Graph& graph, plan::ClusterProfile belief,
                 std::vector<plan::Stage> stages, double dilation);
  Status deploy();

  Coordinator& coordinator_;
  const Graph& graph_;
  const double dilation_;
  plan::Balancer balancer_;

  mutable std::mutex mutex_;
  std::shared_ptr<const Round> round_;
  size_t next_ = 0;
  std::vector<Sum> sums_;  // by worker
};

}  // namespace shoal::cluster
