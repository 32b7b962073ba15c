// Turns of replicated stages. Weighted round robin by greedy list scheduling: within a round, each
// request of a stage goes to the worker whose finishing time would be least. A longer round
// approximates unequal speeds better, but each turn is a plan that has to be deployed.
#include "shoal/plan/stream/round_robin.h"

#include <algorithm>
#include <numeric>

#include "shoal/plan/coding/protect.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

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

}  // namespace shoal::plan
