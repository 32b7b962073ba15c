// BalancedStream: a pipeline of stages whose work is moved between workers while requests go
// through it.
//
// Workers measure how long they compute; plan::Balancer corrects the profile by that, and moves
// work from the slowest worker to idle ones. The new stages are deployed beside the old ones.
// Requests that began by the old stages end by them, so that none is lost.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/load_generator.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/plan/stream/balance.h"

namespace shoal::cluster {

// Thread-safe, but for balance() and stages().
class BalancedStream {
 public:
  // Deploys the stages; ready to run when it returns. `belief` is the profile to begin with. Where
  // devices are emulated in slow motion, the times that workers report are divided by `dilation`.
  // REQUIRES: coordinator and graph outlive the stream.
  static Result<std::unique_ptr<BalancedStream>> start(Coordinator& coordinator, const Graph& graph,
                                                       plan::ClusterProfile belief,
                                                       std::vector<plan::Stage> stages,
                                                       double dilation = 1);

  // As RemotePlan::run(). Any number of requests may be on their way at once.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout);

  // How long each worker computes for a request, on the average since the last move.
  std::vector<plan::WorkerReport> reports() const;

  // Learns from the reports, makes one move if it is worth it, and says which. Requests go on
  // meanwhile: by the old stages until the new ones are deployed, or if deploying them fails.
  // REQUIRES: one call at a time.
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

// A move of settle(), and the seconds between two answers after it.
struct BalanceStep {
  std::string move;  // empty: the stages to begin with
  double seconds = 0;
};

// Balances until no move is worth it. `load` sends requests to the stream, while stages are moved,
// too. Periods are divided by `dilation`. Fails as soon as a request or a move does.
Result<std::vector<BalanceStep>> settle(BalancedStream& stream, LoadGenerator& load,
                                        double dilation = 1);

}  // namespace shoal::cluster
