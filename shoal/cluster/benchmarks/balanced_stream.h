// BalancedStream: a pipeline whose work is moved between workers while requests go through it.
//
// Workers measure how long they compute. plan::Balancer corrects the profile accordingly and moves
// work from the slowest worker to idle ones. The new stages are deployed beside the old ones.
// Requests that began by the old stages end by them, so that none is lost. A FailoverDeployment
// keeps the stages deployed while workers come and go.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/timing/load_generator.h"
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/plan/stream/balance.h"

namespace shoal::cluster {

struct BalanceOptions {
  // If devices are emulated in slow motion: reported times are divided by this.
  double dilation = 1;
  // Each stage is also computed by this many additional workers, as long as there are enough.
  int survive = 0;
  // See FailoverOptions.
  std::chrono::milliseconds retry_interval{1'000};
  std::chrono::milliseconds grace{2'000};
};

// Thread-safe, except balance().
class BalancedStream {
 public:
  // Deploys the stages; ready to run when it returns. `belief` is the profile to begin with, of all
  // workers of the coordinator. Workers that are lost, or come back, take stages as stages_for()
  // says. REQUIRES: coordinator and graph outlive the stream.
  static Result<std::unique_ptr<BalancedStream>> start(Coordinator& coordinator, const Graph& graph,
                                                       plan::ClusterProfile belief,
                                                       std::vector<plan::Stage> stages,
                                                       BalanceOptions options = {});

  // As FailoverDeployment::run(). Any number of requests may be in progress at once.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             std::chrono::milliseconds timeout);

  // How long each worker computes its stage for a request, on the average since the last move.
  std::vector<plan::WorkerReport> reports() const;

  // Learns from the reports, makes one move if it is worth it, and returns its description.
  // Requests continue by the old stages until the new ones are deployed, or if deploying them
  // fails. REQUIRES: one call at a time.
  Result<std::optional<std::string>> balance(std::span<const plan::WorkerReport> reports);

  std::vector<plan::Stage> stages() const;
  FailoverDeployment& deployment() { return *deployment_; }

 private:
  struct Sum {
    double seconds = 0;
    size_t requests = 0;
  };

  BalancedStream(const Graph& graph, plan::ClusterProfile belief, std::vector<plan::Stage> stages,
                 BalanceOptions options);
  Result<Turns> plan(const Workers& set);

  const Graph& graph_;
  const BalanceOptions options_;

  mutable std::mutex mutex_;  // never held while the deployment is called
  plan::Balancer balancer_;
  double times_ = 1;       // that a stage is computed
  std::vector<Sum> sums_;  // by worker
  size_t sums_of_ = 0;     // the deployment's changes() that they belong to
  std::unique_ptr<FailoverDeployment> deployment_;  // first to go: it uses the rest
};

// A move of settle(), and the seconds between two answers after it.
struct BalanceStep {
  std::string move;  // empty: the stages to begin with
  double seconds = 0;
};

// Balances until no move is worth it. `load` sends requests to the stream, also while stages are
// moved. Periods are divided by `dilation`. Fails as soon as a request or a move does.
Result<std::vector<BalanceStep>> settle(BalancedStream& stream, LoadGenerator& load,
                                        double dilation = 1);

}  // namespace shoal::cluster
