// shoal simulate --day: what chaos/day makes of a day, as a table or JSON, with the time and the
// memory that the simulation took.
#include "day.h"

#include <chrono>
#include <cstdio>

#include "../model.h"
#include "../progress.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/base/machine.h"
#include "shoal/chaos/day/day.h"
#include "shoal/passes/passes.h"

namespace shoal::cli {
namespace {

std::string counted(uint64_t n) { return with_commas(static_cast<long long>(n)); }

void print(const chaos::DayReport& report, size_t workers, double seconds) {
  Table table({"workers", "teams", "requests", "answered", "refused", "failed", "replayed",
               "p50 ms", "p99 ms", "longest ms"});
  table.add({std::to_string(workers), std::to_string(report.teams), counted(report.requests),
             counted(report.answered), counted(report.refused), counted(report.failed),
             counted(report.replayed), fixed(report.latencies.quantile(0.5), 1),
             fixed(report.latencies.quantile(0.99), 1), fixed(report.latencies.max(), 1)});
  table.print();
  std::printf("%s losses, %s joins; %s plans searched, deployed %s times and %s times given back\n",
              counted(report.losses).c_str(), counted(report.joins).c_str(),
              counted(report.searches).c_str(), counted(report.deployed).c_str(),
              counted(report.restored).c_str());
  std::printf("simulated in %s s with %s\n", fixed(seconds, 1).c_str(),
              in_bytes(static_cast<long long>(peak_memory_bytes())).c_str());
}

Json to_json(const chaos::DayReport& report, size_t workers, double seconds) {
  return {{"workers", workers},
          {"teams", report.teams},
          {"requests", report.requests},
          {"answered", report.answered},
          {"refused", report.refused},
          {"failed", report.failed},
          {"replayed", report.replayed},
          {"losses", report.losses},
          {"joins", report.joins},
          {"searches", report.searches},
          {"deployed", report.deployed},
          {"restored", report.restored},
          {"p50_ms", report.latencies.quantile(0.5)},
          {"p99_ms", report.latencies.quantile(0.99)},
          {"longest_ms", report.latencies.max()},
          {"hash", report.hash},
          {"seconds", seconds},
          {"memory_bytes", peak_memory_bytes()}};
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
  if (json) {
    std::printf("%s\n", to_json(report, cluster.workers.size(), spent.count()).dump().c_str());
  } else {
    print(report, cluster.workers.size(), spent.count());
  }
  return {};
}

}  // namespace shoal::cli
