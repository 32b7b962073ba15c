// shoal simulate --day: what chaos/day makes of a day, as a table or JSON, with the time and the
// memory that the simulation took.
#include "day.h"

#include <chrono>

#include "../facts.h"
#include "../model.h"
#include "shoal/base/terminal/progress_bar.h"
#include "shoal/cluster/chaos/day/day.h"
#include "shoal/model/passes/passes.h"

namespace shoal::cli {
Outcome simulate_day(const PlanFlags& plan, const DayFlags& day, unsigned seed, bool json) {
  SHOAL_OR_EXIT(const plan::ClusterProfile cluster, Exit::kUsage, make_cluster(plan.cluster));
  SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(plan.model, plan.shapes));
  SHOAL_OR_EXIT(const Graph graph, Exit::kModel, passes::optimize(loaded.graph));
  constexpr size_t kMinutes = 24 * 60;
  ProgressBar progress("minutes of a day", kMinutes);
  const auto begin = std::chrono::steady_clock::now();
  SHOAL_OR_EXIT(
      const chaos::DayReport report, Exit::kModel,
      chaos::simulate_day(graph, cluster,
                          {.seed = seed,
                           .hours = day.hours,
                           .requests_per_second = day.rate,
                           .losses = day.losses,
                           .away_minutes = day.away_minutes,
                           .team_size = day.team},
                          [&](double part) { progress.at(static_cast<size_t>(part * kMinutes)); }));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  print_facts(facts_of(report, cluster.workers.size(), spent.count()), json);
  if (!json) print_lines(lines_of(report, spent.count()));
  return {};
}

}  // namespace shoal::cli
