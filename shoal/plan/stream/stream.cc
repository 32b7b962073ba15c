// Plans for throughput. Candidates are pipelines of s stages, replicas of the whole graph, stages
// with replicas, and with redundancy also coded plans for single requests. Each is simulated with a
// window of requests in flight, and the rate of the second half of the stream counts.
#include "shoal/plan/stream/stream.h"

#include <algorithm>
#include <functional>
#include <set>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/survive.h"
#include "shoal/plan/stream/round_robin.h"

namespace shoal::plan {
namespace {

class StreamPlanner {
 public:
  StreamPlanner(const Graph& graph, const ClusterProfile& cluster, const StreamOptions& options)
      : graph_(graph),
        cluster_(cluster),
        options_(options),
        workers_(Choices(graph, cluster, options.excluded).workers()) {}

  Result<std::vector<StreamPrediction>> run() {
    if (workers_.empty()) return invalid("there is no worker to plan for");
    // The ablest that has the memory for all.
    for (size_t w = 0; w < workers_.size() && found_.empty(); ++w) {
      SHOAL_TRY(try_stages({workers_[w]}, 1, 1));
    }
    if (options_.replicas) SHOAL_TRY(try_stages(workers_, 1, workers_.size()));
    // The dynamic programme takes ever longer with more workers. With hundreds of them, stages of
    // the ablest are enough to see whether stages pay.
    constexpr size_t kMostWorkers = 32, kMostStages = 8;
    const std::vector<int> few(
        workers_.begin(), workers_.begin() + std::min(std::ssize(workers_), long{kMostWorkers}));
    for (size_t stages = 2; options_.stages && stages <= few.size(); ++stages) {
      SHOAL_TRY(try_stages(few, stages, 1));
      const bool mixed = options_.replicas && stages < few.size() && stages <= kMostStages;
      if (mixed) SHOAL_TRY(try_stages(few, stages, few.size()));
    }
    if (options_.survive > 0) SHOAL_TRY(try_codes());
    if (found_.empty()) return Status(Code::kExhausted, "no worker has memory for its part");
    std::ranges::stable_sort(found_, std::greater(), &StreamPrediction::requests_per_second);
    return std::move(found_);
  }

 private:
  Status try_stages(const std::vector<int>& workers, size_t count, size_t most_workers) {
    const auto stages = StageFinder(graph_, cluster_, workers).best(count, most_workers);
    if (!stages) return {};
    StreamPrediction made{name_of(*stages)};
    SHOAL_ASSIGN(made.turns, make_round_robin(graph_, cluster_, *stages));
    if (options_.survive > 0) {
      SHOAL_ASSIGN(made.turns, repeat(graph_, std::move(made.turns), options_.survive, workers_,
                                      options_.wait_seconds));
      made.name += ", " + std::to_string(options_.survive + 1) + " times";
    }
    if (fits(made.turns)) add(std::move(made), workers_in(*stages));
    return {};
  }

  // Whether every worker has the memory for its stages in all turns. A stage that it computes in
  // several of them has its weights in memory once.
  bool fits(const std::vector<ScheduledPlan>& turns) const {
    const size_t workers = cluster_.workers.size();
    std::vector<double> weights(workers), activations(workers);
    std::set<std::pair<size_t, size_t>> counted;  // worker, first node
    for (const ScheduledPlan& turn : turns) {
      for (size_t s = 0; s < turn.plan().segments.size(); ++s) {
        const Segment& segment = turn.plan().segments[s];
        for (size_t t = 0; t < segment.tasks.size(); ++t) {
          const auto worker = static_cast<size_t>(segment.tasks[t].worker);
          if (!counted.emplace(worker, segment.nodes.begin).second) continue;
          const Part& part = turn.schedule().parts[s][t];
          weights[worker] += weight_bytes(turn.graph(), part);
          activations[worker] = std::max(activations[worker], activation_bytes(turn.graph(), part));
        }
      }
    }
    for (size_t w = 0; w < workers; ++w) {
      if (weights[w] + activations[w] > cluster_.workers[w].memory_bytes) return false;
    }
    return true;
  }

  // Coded plans for a single request serve as turns as well: all workers share each request.
  Status try_codes() {
    PlanOptions options;
    options.excluded = options_.excluded;
    options.survive = options_.survive;
    options.wait_seconds = options_.wait_seconds;
    const auto plans = make_surviving_plans(graph_, cluster_, options);
    if (plans.status().code() == Code::kExhausted) return {};  // stages may fit all the same
    if (!plans.ok()) return plans.status();
    for (const Prediction& plan : *plans) {
      if (plan.plan().codes.empty()) continue;
      add({plan.name, {plan.scheduled}}, workers_.size());
    }
    return {};
  }

  void add(StreamPrediction made, size_t workers) {
    made.in_flight = options_.in_flight > 0 ? options_.in_flight : 2 * workers;
    // Enough for the pipeline to fill in the first half and to run steadily in the second.
    const size_t requests = 8 * std::max(made.in_flight, made.turns.size());
    made.stream = simulate_stream(made.turns, cluster_, requests, made.in_flight);
    const auto same = [&](const StreamPrediction& other) { return other.name == made.name; };
    if (std::ranges::none_of(found_, same)) found_.push_back(std::move(made));
  }

  static size_t workers_in(const std::vector<Stage>& stages) {
    size_t count = 0;
    for (const Stage& stage : stages) count += stage.workers.size();
    return count;
  }

  static std::string name_of(const std::vector<Stage>& stages) {
    const size_t workers = workers_in(stages);
    if (workers == 1) return "one worker";
    if (stages.size() == 1) return std::to_string(workers) + " replicas";
    const std::string text = std::to_string(stages.size()) + " stages";
    return workers == stages.size() ? text : text + " over " + std::to_string(workers);
  }

  const Graph& graph_;
  const ClusterProfile& cluster_;
  const StreamOptions& options_;
  const std::vector<int> workers_;  // the ablest first
  std::vector<StreamPrediction> found_;
};

}  // namespace

Result<std::vector<StreamPrediction>> make_stream_plans(const Graph& graph,
                                                        const ClusterProfile& cluster,
                                                        const StreamOptions& options) {
  return StreamPlanner(graph, cluster, options).run();
}

}  // namespace shoal::plan
