// Plans for throughput. Candidates are pipelines of s stages, replicas of the whole graph, stages
// with replicas, and with redundancy also coded plans for single requests. Each is simulated with a
// window of requests in flight, and the rate of the second half of the stream counts.
#include "shoal/plan/stream/stream.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <span>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"
#include "shoal/plan/search/survive.h"

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
    StreamPrediction prediction{name_of(*stages)};
    SHOAL_ASSIGN(prediction.turns, make_round_robin(graph_, cluster_, *stages));
    if (options_.survive > 0) {
      SHOAL_ASSIGN(prediction.turns, repeat(graph_, std::move(prediction.turns), options_.survive,
                                            workers_, options_.wait_seconds));
      prediction.name += ", " + std::to_string(options_.survive + 1) + " times";
    }
    if (fits(prediction.turns)) add(std::move(prediction), workers_in(*stages));
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

  void add(StreamPrediction prediction, size_t workers) {
    prediction.in_flight = options_.in_flight > 0 ? options_.in_flight : 2 * workers;
    // Enough for the pipeline to fill in the first half and to run steadily in the second.
    const size_t requests = 8 * std::max(prediction.in_flight, prediction.turns.size());
    prediction.stream = simulate_stream(prediction.turns, cluster_, requests, prediction.in_flight);
    const auto same = [&](const StreamPrediction& other) { return other.name == prediction.name; };
    if (std::ranges::none_of(found_, same)) found_.push_back(std::move(prediction));
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

namespace {

// Turns of replicated stages. Weighted round robin by greedy list scheduling: within a round, each
// request of a stage goes to the worker whose finishing time would be least. A longer round
// approximates unequal speeds better, but each turn is a plan that has to be deployed.

// The tasks of a stage's workers for one request, and their times.
struct Turn {
  std::vector<Task> tasks;
  std::vector<double> seconds;
};

Result<std::vector<Turn>> turns_at(const Graph& graph, const ClusterProfile& cluster,
                                   const std::vector<Stage>& stages) {
  std::vector<Turn> turns;
  for (const Stage& stage : stages) {
    Turn& turn = turns.emplace_back();
    const std::vector<Piece> pieces = whole_pieces(graph, stage.nodes);
    SHOAL_ASSIGN(const Part part, make_part(graph, stage.nodes, pieces));
    for (int worker : stage.workers) {
      turn.tasks.push_back({worker, pieces});
      turn.seconds.push_back(seconds_of(graph, part, cluster.workers[static_cast<size_t>(worker)]));
    }
  }
  return turns;
}

// The length of a round: a multiple of the number of workers of every stage, so that equal workers
// get equal turns, and twelve times that if speeds differ by more than 3 %.
size_t turn_count(const std::vector<Turn>& stages, size_t most) {
  constexpr double kAboutEqual = 1.03;
  size_t count = 1, rounds = 1;
  for (const Turn& stage : stages) {
    count = std::lcm(count, stage.tasks.size());
    const auto [least, largest] = std::ranges::minmax(stage.seconds);
    if (largest > kAboutEqual * least) rounds = 12;
  }
  return count >= most ? most : count * std::min(rounds, most / count);
}

}  // namespace

Result<std::vector<ScheduledPlan>> make_round_robin(const Graph& graph,
                                                    const ClusterProfile& cluster,
                                                    const std::vector<Stage>& stages, size_t most) {
  SHOAL_ASSIGN(const std::vector<Turn> at, turns_at(graph, cluster, stages));
  std::vector<Plan> plans(turn_count(at, most));
  for (size_t s = 0; s < stages.size(); ++s) {
    const auto& [tasks, seconds] = at[s];
    std::vector<double> busy(tasks.size(), 0);
    for (Plan& plan : plans) {
      size_t next = 0;
      for (size_t w = 1; w < tasks.size(); ++w) {
        if (busy[w] + seconds[w] < busy[next] + seconds[next]) next = w;
      }
      busy[next] += seconds[next];
      plan.segments.push_back(
          {stages[s].nodes, "worker " + std::to_string(tasks[next].worker), {tasks[next]}});
    }
  }
  const auto shared = std::make_shared<const Graph>(graph);
  std::vector<ScheduledPlan> turns;
  for (Plan& plan : plans) {
    SHOAL_ASSIGN(ScheduledPlan turn, ScheduledPlan::make(shared, std::move(plan)));
    turns.push_back(std::move(turn));
  }
  return turns;
}

Result<std::vector<ScheduledPlan>> repeat(const Graph& graph, std::vector<ScheduledPlan> turns,
                                          int survive, std::vector<int> workers,
                                          double wait_seconds) {
  std::ranges::sort(workers);
  std::shared_ptr<const Graph> shared;
  for (ScheduledPlan& turn : turns) {
    SHOAL_ASSIGN(Protected safe, protect(graph, turn.plan(), survive, workers, false));
    if (shared == nullptr) shared = std::make_shared<const Graph>(std::move(safe.graph));
    safe.plan.wait_seconds = wait_seconds;
    SHOAL_ASSIGN(turn, ScheduledPlan::make(shared, std::move(safe.plan)));
  }
  return turns;
}

namespace {

ClusterProfile with_enough_memory(ClusterProfile cluster) {
  for (WorkerProfile& worker : cluster.workers) {
    if (worker.present) worker.memory_bytes = WorkerProfile().memory_bytes;
  }
  return cluster;
}

}  // namespace

Result<StreamComparison> compare_streams(Graph graph, ClusterProfile cluster,
                                         const StreamOptions& options, bool forced) {
  SHOAL_ASSIGN(auto plans, make_stream_plans(graph, cluster, options));
  // The yardstick has no redundancy: one worker alone cannot survive its own loss.
  const StreamOptions alone{.stages = false, .replicas = false, .excluded = options.excluded};
  auto single = make_stream_plans(graph, cluster, alone);
  const bool single_fits = single.status().code() != Code::kExhausted;
  if (!single_fits) single = make_stream_plans(graph, with_enough_memory(cluster), alone);
  if (!single.ok()) return single.status();
  if (forced && plans.size() > 1) {
    std::erase_if(plans,
                  [](const StreamPrediction& plan) { return plan.name.starts_with("one worker"); });
  }
  return StreamComparison{std::move(graph), std::move(cluster), std::move(plans),
                          single->front().requests_per_second(), single_fits};
}

Advice advise(const StreamComparison& comparison) {
  const auto busy = std::ranges::count_if(comparison.best().stream.compute_seconds,
                                          [](double seconds) { return seconds > 0; });
  Advice advice{.use = Use::kAll,
                .used = static_cast<size_t>(busy),
                .all = count_present(comparison.cluster)};
  if (advice.all == 1) {
    advice.use = Use::kOnlyWorker;
  } else if (!comparison.single_fits) {
    advice.use = Use::kTogether;
  } else if (advice.used < advice.all) {
    // Before the gain: idle workers are the more specific advice.
    advice.use = Use::kSome;
  } else if (comparison.speedup() < kWorthwhileSpeedup) {
    advice.use = Use::kNoGain;
  }
  return advice;
}

Period period_of(const StreamPrediction& plan) {
  return {1 / plan.requests_per_second(),
          seconds_per_request(plan, std::ranges::max(plan.stream.compute_seconds)),
          seconds_per_request(plan, std::ranges::max(plan.stream.transfer_seconds))};
}

std::string why_slower(const StreamPrediction& plan) {
  const Period period = period_of(plan);
  return "its busiest worker computes " + fixed(1e3 * period.compute_seconds, 1) +
         " ms and its busiest link is in use " + fixed(1e3 * period.transfer_seconds, 1) +
         " ms for every request";
}

std::string advice_text(const StreamComparison& comparison) {
  return advice_text(advise(comparison),
                     "answers every " + fixed(1e3 / comparison.single_per_second, 1) + " ms");
}

double seconds_per_request(const StreamPrediction& plan, double seconds) {
  return seconds / static_cast<double>(plan.stream.answered.size());
}

std::string to_text(const StreamPrediction& plan) {
  std::string text;
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    text += "turn " + std::to_string(t) + '\n' + to_text(plan.graph(), plan.turns[t].plan());
  }
  return text;
}

StragglerLatencies simulate_stragglers(const Prediction& plan, const ClusterProfile& cluster,
                                       size_t requests, const Stragglers& stragglers) {
  constexpr double kForEver = 1e9;  // seconds
  const auto run = [&](double wait) {
    const ScheduledPlan turn = plan.scheduled.with_wait(wait);
    const Stream stream = simulate_stream(std::span(&turn, 1), cluster, requests, 1, stragglers);
    LatencyRecorder latencies;
    for (double seconds : stream.latencies) latencies.add(1e3 * seconds);
    return latencies;
  };
  return {run(plan.plan().wait_seconds), run(kForEver)};
}

}  // namespace shoal::plan
