// Live rebalancing. After a move, the deployment makes its plans again: from the new stages, beside
// the old ones, which serve until the new ones are there.
#include "shoal/cluster/benchmarks/balanced_stream.h"

#include <algorithm>
#include <future>

#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {

BalancedStream::BalancedStream(const Graph& graph, plan::ClusterProfile belief,
                               std::vector<plan::Stage> stages, BalanceOptions options)
    : graph_(graph), options_(options), balancer_(graph, std::move(belief), std::move(stages)) {}

Result<std::unique_ptr<BalancedStream>> BalancedStream::start(Coordinator& coordinator,
                                                              const Graph& graph,
                                                              plan::ClusterProfile belief,
                                                              std::vector<plan::Stage> stages,
                                                              BalanceOptions options) {
  std::unique_ptr<BalancedStream> stream(
      new BalancedStream(graph, std::move(belief), std::move(stages), options));
  stream->sums_.resize(coordinator.worker_count());
  SHOAL_ASSIGN(stream->deployment_,
               FailoverDeployment::start(
                   coordinator,
                   {.plan = [self = stream.get()](const Workers& set) { return self->plan(set); },
                    .retry_interval = options.retry_interval,
                    .grace = options.grace,
                    .traced = true}));
  return stream;
}

// On the deployment's thread, for the workers that are there.
Result<Turns> BalancedStream::plan(const Workers& set) {
  const std::lock_guard lock(mutex_);
  if (set.empty()) return Status(Code::kUnavailable, "no worker is left");
  std::vector<plan::Stage> stages = plan::stages_for(balancer_.stages(), set);
  SHOAL_ASSIGN(Turns turns, plan::make_round_robin(graph_, balancer_.belief(), stages));
  const int survive = std::clamp(static_cast<int>(set.size()) - 1, 0, options_.survive);
  if (survive > 0) {
    SHOAL_ASSIGN(turns, plan::repeat(graph_, std::move(turns), survive, {set.begin(), set.end()}));
  }
  balancer_.set_stages(std::move(stages));
  times_ = survive + 1;
  return turns;
}

Status BalancedStream::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           std::chrono::milliseconds timeout) {
  const size_t before = deployment_->changes();
  plan::Timeline times;
  SHOAL_TRY(deployment_->run(inputs, outputs, timeout, {}, &times));
  const size_t after = deployment_->changes();
  // The stages have been moved since.
  if (before != after || times.compute_seconds.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (std::exchange(sums_of_, after) != after) sums_.assign(sums_.size(), {});
  for (size_t w = 0; w < sums_.size(); ++w) {
    if (times.compute_seconds[w] <= 0) continue;
    // Where stages are repeated, a worker computes its own and as many others; they are about
    // equally long once the stream is balanced.
    sums_[w].seconds += times.compute_seconds[w] / options_.dilation / times_;
    ++sums_[w].requests;
  }
  return {};
}

std::vector<plan::Stage> BalancedStream::stages() const {
  const std::lock_guard lock(mutex_);
  return balancer_.stages();
}

std::vector<plan::WorkerReport> BalancedStream::reports() const {
  const std::lock_guard lock(mutex_);
  std::vector<plan::WorkerReport> reports;
  for (size_t w = 0; w < sums_.size(); ++w) {
    if (sums_[w].requests == 0) continue;
    reports.push_back(
        {static_cast<int>(w), sums_[w].seconds / static_cast<double>(sums_[w].requests)});
  }
  return reports;
}

Result<std::optional<std::string>> BalancedStream::balance(
    std::span<const plan::WorkerReport> reports) {
  std::vector<plan::Stage> before;
  std::optional<std::string> moved;
  {
    const std::lock_guard lock(mutex_);
    balancer_.learn(reports);
    before = balancer_.stages();
    moved = balancer_.move();
  }
  if (!moved) return moved;
  const size_t changes = deployment_->changes();
  deployment_->replan();
  deployment_->settle();
  if (deployment_->changes() != changes) return moved;
  // The old round still serves, so the balancer must describe its stages.
  const std::lock_guard lock(mutex_);
  balancer_.set_stages(std::move(before));
  return Status(Code::kUnavailable, "the moved stages cannot be deployed");
}

Result<std::vector<BalanceStep>> settle(BalancedStream& stream, LoadGenerator& load,
                                        double dilation) {
  constexpr size_t kRequests = 16;  // between moves, at least
  std::vector<BalanceStep> steps(1);
  for (;;) {
    SHOAL_ASSIGN(const double seconds, load.period(kRequests));
    steps.back().seconds = seconds / dilation;
    auto moving = std::async(std::launch::async, [&] { return stream.balance(stream.reports()); });
    while (moving.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      SHOAL_TRY(load.period(kRequests).status());
    }
    SHOAL_ASSIGN(std::optional<std::string> moved, moving.get());
    if (!moved) return steps;
    steps.push_back({*std::move(moved)});
  }
}

}  // namespace shoal::cluster
