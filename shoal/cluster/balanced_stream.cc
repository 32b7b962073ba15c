// Live rebalancing. New stages are deployed as plans of their own while the old ones still serve;
// then the current round is swapped under the lock. A request holds a shared pointer to its round,
// so the old plans are released by the last request that uses them.
#include "shoal/cluster/balanced_stream.h"

#include <future>

#include "shoal/plan/stream/round_robin.h"

namespace shoal::cluster {

BalancedStream::BalancedStream(Coordinator& coordinator, const Graph& graph,
                               plan::ClusterProfile belief, std::vector<plan::Stage> stages,
                               double dilation)
    : coordinator_(coordinator),
      graph_(graph),
      dilation_(dilation),
      balancer_(graph, std::move(belief), std::move(stages)) {}

Result<std::unique_ptr<BalancedStream>> BalancedStream::start(Coordinator& coordinator,
                                                              const Graph& graph,
                                                              plan::ClusterProfile belief,
                                                              std::vector<plan::Stage> stages,
                                                              double dilation) {
  std::unique_ptr<BalancedStream> stream(
      new BalancedStream(coordinator, graph, std::move(belief), std::move(stages), dilation));
  SHOAL_TRY(stream->deploy());
  return stream;
}

Status BalancedStream::deploy() {
  SHOAL_ASSIGN(const auto turns,
               plan::make_round_robin(graph_, balancer_.belief(), balancer_.stages()));
  auto round = std::make_shared<Round>();
  for (const plan::ScheduledPlan& turn : turns) {
    SHOAL_ASSIGN(auto remote, coordinator_.deploy(turn, true));
    round->push_back(std::move(remote));
  }
  std::shared_ptr<const Round> old = std::move(round);  // released after the lock
  const std::lock_guard lock(mutex_);
  round_.swap(old);
  next_ = 0;
  // Times of the old stages say nothing about the new ones.
  sums_.assign(coordinator_.worker_count(), {});
  return {};
}

Status BalancedStream::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           std::chrono::milliseconds timeout) {
  std::shared_ptr<const Round> round;
  size_t turn = 0;
  {
    const std::lock_guard lock(mutex_);
    round = round_;
    turn = next_++ % round->size();
  }
  plan::Timeline times;
  RemotePlan& plan = *(*round)[turn];
  SHOAL_TRY(plan.run(inputs, outputs, timeout, &times));
  const std::lock_guard lock(mutex_);
  if (round != round_) return {};  // the stages have been moved since
  for (int worker : plan.workers()) {
    Sum& sum = sums_[static_cast<size_t>(worker)];
    sum.seconds += times.compute_seconds[static_cast<size_t>(worker)] / dilation_;
    ++sum.requests;
  }
  return {};
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
  balancer_.learn(reports);
  const std::vector<plan::Stage> before = balancer_.stages();
  std::optional<std::string> moved = balancer_.move();
  if (!moved) return moved;
  // The old round still serves, so the balancer must describe its stages.
  if (const Status status = deploy(); !status.ok()) {
    balancer_.set_stages(before);
    return status;
  }
  return moved;
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
