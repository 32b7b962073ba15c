// shoal simulate --day: what chaos/day makes of a day, as a table or JSON, with the time and the
// memory that the simulation took.
#include "day.h"

#include <chrono>
#include <cstdio>

#include "../facts.h"
#include "../model.h"
#include "../progress.h"
#include "shoal/base/machine.h"
#include "shoal/chaos/day/day.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

std::vector<Fact> facts_of(const chaos::DayReport& report, size_t workers, double seconds) {
  return {{"workers", workers, "workers"},
          {"teams", report.teams, "teams"},
          counted("requests", report.requests, "requests"),
          counted("answered", report.answered, "answered"),
          counted("refused", report.refused, "refused"),
          counted("failed", report.failed, "failed"),
          counted("replayed", report.replayed, "replayed"),
          {"losses", report.losses},
          {"joins", report.joins},
          {"searches", report.searches},
          {"deployed", report.deployed},
          {"restored", report.restored},
          {"p50_ms", report.latencies.quantile(0.5), "p50 ms", 1},
          {"p99_ms", report.latencies.quantile(0.99), "p99 ms", 1},
          {"longest_ms", report.latencies.max(), "longest ms", 1},
          {"hash", report.hash},
          {"seconds", seconds},
          {"memory_bytes", peak_memory_bytes()}};
}

void print_plans(const chaos::DayReport& report, double seconds) {
  const auto shown = [](uint64_t n) { return with_commas(static_cast<long long>(n)); };
  std::printf("%s losses, %s joins; %s plans searched, deployed %s times and %s times given back\n",
              shown(report.losses).c_str(), shown(report.joins).c_str(),
              shown(report.searches).c_str(), shown(report.deployed).c_str(),
              shown(report.restored).c_str());
  std::printf("simulated in %s s with %s\n", fixed(seconds, 1).c_str(),
              in_bytes(static_cast<long long>(peak_memory_bytes())).c_str());
}

}  // namespace

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
  if (!json) print_plans(report, spent.count());
  return {};
}

}  // namespace shoal::cli
