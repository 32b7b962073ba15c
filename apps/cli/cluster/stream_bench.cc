// The bench of a stream: the period of the plan and that of one worker alone.
#include "stream_bench.h"

#include <cstdio>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/emulate/measured_plans.h"
#include "shoal/plan/search/conclusion.h"

namespace shoal::cli {
namespace {

struct Figures {
  double single = 0, stream = 0;  // seconds between two answers
  double slowdown = 1;            // as in plan::Evidence
  bool shares_machine = false;

  double speedup() const { return single / stream; }
};

std::string conclusion_of(const PlannedStream& planned, const Figures& figures) {
  return plan::conclusion_text(with_measured(advise(planned), figures.speedup()),
                               "answers every " + fixed(1e3 * figures.single, 1) + " ms",
                               {.predicted_speedup = planned.speedup(),
                                .measured_speedup = figures.speedup(),
                                .slowdown_then = plan::largest_slowdown(planned.cluster),
                                .slowdown_now = figures.slowdown,
                                .shares_machine = figures.shares_machine});
}

void print_stream(const PlannedStream& planned, const Figures& figures) {
  Table table({"", "predicted ms", "measured ms"});
  table.add({"one worker", fixed(1e3 / planned.single_per_second, 1),
             planned.single_fits ? fixed(1e3 * figures.single, 1) : "no memory"});
  table.add({planned.best().name, fixed(1e3 / planned.best().requests_per_second(), 1),
             fixed(1e3 * figures.stream, 1)});
  table.add({"speed-up", fixed(planned.speedup(), 2), fixed(figures.speedup(), 2)});
  std::printf("Between two answers:\n");
  table.print();
  std::printf("%s\n", conclusion_of(planned, figures).c_str());
}

Outcome bench(ClusterAccess& access, const PlannedStream& planned, const ClusterBenchFlags& flags) {
  PlanFlags alone = flags.plan;
  alone.split = "none";
  alone.survive = 0;
  Figures figures{.single = 1 / planned.single_per_second,
                  .slowdown = access.connection().slowdown(),
                  .shares_machine = access.connection().shares_machine()};
  if (planned.single_fits) {
    SHOAL_OR_EXIT(const PlannedStream single, Exit::kModel,
                  make_planned_stream(alone, planned.cluster));
    SHOAL_OR_EXIT(figures.single, Exit::kNetwork,
                  emulate::measure_stream(access, single, stream_options(alone), is_forced(alone)));
  }
  SHOAL_OR_EXIT(
      figures.stream, Exit::kNetwork,
      emulate::measure_stream(access, planned, stream_options(flags.plan), is_forced(flags.plan)));
  if (!flags.json) {
    print_stream(planned, figures);
    return {};
  }
  Json result = to_json(planned);
  result["single_ms"] = 1e3 * figures.single;
  result["cluster_ms"] = 1e3 * figures.stream;
  result["speedup"] = figures.speedup();
  result["predicted_speedup"] = planned.speedup();
  result["advice"] = conclusion_of(planned, figures);
  result["dilation"] = access.dilation();
  print_json(result);
  return {};
}

}  // namespace

Outcome with_planned_stream(
    const ClusterBenchFlags& flags,
    const std::function<Outcome(ClusterAccess& access, const PlannedStream& planned)>& measure) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(
      const PlannedStream planned, Exit::kModel,
      make_planned_stream(flags.plan, [&](const Graph& graph) { return access->profile(graph); }));
  return measure(*access, planned);
}

Outcome bench_stream(const ClusterBenchFlags& flags) {
  return with_planned_stream(flags, [&](ClusterAccess& access, const PlannedStream& planned) {
    return bench(access, planned, flags);
  });
}

}  // namespace shoal::cli
