#include "stream_bench.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "../model.h"
#include "../streaming.h"
#include "../table.h"
#include "cluster_access.h"

namespace shoal::cli {
namespace {

using cluster::RemotePlan;
using plan::StreamPrediction;

using Clock = std::chrono::steady_clock;

// Requests that follow each other without a pause, in turns.
class Streaming {
 public:
  Streaming(ClusterAccess& access, const Graph& graph, const StreamPrediction& prediction)
      : access_(access), graph_(graph), prediction_(prediction) {
    std::mt19937 rng(1);
    for (ValueId id : graph.inputs()) inputs_.push_back(random_tensor(graph[id].type, rng));
  }

  Status deploy() {
    for (const plan::ScheduledPlan& turn : prediction_.turns) {
      SHOAL_ASSIGN(auto remote, access_.coordinator().deploy(graph_, turn.plan));
      remotes_.push_back(std::move(remote));
    }
    return {};
  }

  // Seconds between two answers, in the time of the workers' world. The first half only fills the
  // workers.
  Result<double> period(size_t requests) {
    requests = std::max(requests, 4 * prediction_.in_flight);
    next_ = 0;
    answered_.clear();
    std::vector<std::thread> clients;
    for (size_t i = 0; i < prediction_.in_flight; ++i) {
      clients.emplace_back([&] { ask(requests); });
    }
    for (std::thread& client : clients) client.join();
    SHOAL_TRY(failure_);
    // Workers that take turns answer together: only whole rounds of them can be counted.
    const size_t counted = (requests / 2 + remotes_.size() - 1) / remotes_.size() * remotes_.size();
    const std::chrono::duration<double> time =
        answered_.back() - answered_[answered_.size() - 1 - counted];
    return time.count() / static_cast<double>(counted) / access_.dilation();
  }

 private:
  // One client: a request after the other, until all are answered.
  void ask(size_t requests) {
    for (;;) {
      size_t request = 0;
      {
        const std::lock_guard lock(mutex_);
        if (next_ == requests || !failure_.ok()) return;
        request = next_++;
      }
      std::vector<Tensor> outputs(graph_.outputs().size());
      const Status status = remotes_[request % remotes_.size()]->run(inputs_, outputs, kPatience);
      const std::lock_guard lock(mutex_);
      if (failure_.ok()) failure_ = status;
      answered_.push_back(Clock::now());
    }
  }

  static constexpr std::chrono::minutes kPatience{10};

  ClusterAccess& access_;
  const Graph& graph_;
  const StreamPrediction& prediction_;
  std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<RemotePlan>> remotes_;
  std::mutex mutex_;
  size_t next_ = 0;
  std::vector<Clock::time_point> answered_;
  Status failure_;
};

Result<double> measure(ClusterAccess& access, const Graph& graph, const StreamPrediction& plan) {
  constexpr size_t kRequests = 16;
  Streaming streaming(access, graph, plan);
  SHOAL_TRY(streaming.deploy());
  const ShapedLinks shaped(access);
  return streaming.period(kRequests);
}

void print(const PlannedStream& planned, double single, double stream) {
  Table table({"", "predicted ms", "measured ms"});
  table.add({"one worker", fixed(1e3 / planned.single_per_second, 1), fixed(1e3 * single, 1)});
  table.add({planned.best().name, fixed(1e3 / planned.best().requests_per_second(), 1),
             fixed(1e3 * stream, 1)});
  table.add({"speed-up", fixed(planned.speedup(), 2), fixed(single / stream, 2)});
  std::printf("Between two answers:\n");
  table.print();
}

}  // namespace

Outcome bench_stream(const ClusterBenchFlags& flags) {
  auto opened = ClusterAccess::open(flags.plan);
  if (!opened.ok()) return fail(exit_of_cluster(opened.status()), opened.status());
  const auto access = *std::move(opened);
  SHOAL_OR_EXIT(
      const PlannedStream planned, Exit::kModel,
      make_planned_stream(flags.plan, [&](const Graph& graph) { return access->profile(graph); }));
  PlanFlags alone = flags.plan;
  alone.split = "none";
  SHOAL_OR_EXIT(const PlannedStream single, Exit::kModel,
                make_planned_stream(alone, planned.cluster));
  SHOAL_OR_EXIT(const double one, Exit::kNetwork, measure(*access, single.graph, single.best()));
  SHOAL_OR_EXIT(const double all, Exit::kNetwork, measure(*access, planned.graph, planned.best()));
  if (!flags.json) {
    print(planned, one, all);
    return {};
  }
  nlohmann::json result = to_json(planned);
  result["single_ms"] = 1e3 * one;
  result["cluster_ms"] = 1e3 * all;
  result["speedup"] = one / all;
  result["dilation"] = access->dilation();
  std::printf("%s\n", result.dump().c_str());
  return {};
}

}  // namespace shoal::cli
