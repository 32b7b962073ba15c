// The bench of a stream: the period of the plan and that of one worker alone.
#include "stream_bench.h"

#include <cstdio>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/cluster/measured_stream.h"

namespace shoal::cli {
namespace {

Result<double> measure(ClusterAccess& access, const plan::StreamPrediction& plan) {
  SHOAL_ASSIGN(const auto stream, cluster::MeasuredStream::deploy(access.coordinator(), plan));
  const ShapedLinks shaped(access);
  return stream->period(access.dilation());
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

Outcome bench(ClusterAccess& access, const PlannedStream& planned, const ClusterBenchFlags& flags) {
  PlanFlags alone = flags.plan;
  alone.split = "none";
  alone.survive = 0;
  SHOAL_OR_EXIT(const PlannedStream single, Exit::kModel,
                make_planned_stream(alone, planned.cluster));
  SHOAL_OR_EXIT(const double one, Exit::kNetwork, measure(access, single.best()));
  SHOAL_OR_EXIT(const double all, Exit::kNetwork, measure(access, planned.best()));
  if (!flags.json) {
    print(planned, one, all);
    return {};
  }
  Json result = to_json(planned);
  result["single_ms"] = 1e3 * one;
  result["cluster_ms"] = 1e3 * all;
  result["speedup"] = one / all;
  result["dilation"] = access.dilation();
  std::printf("%s\n", result.dump().c_str());
  return {};
}

}  // namespace

Outcome with_planned_stream(
    const ClusterBenchFlags& flags,
    const std::function<Outcome(ClusterAccess& access, const PlannedStream& planned)>& measure) {
  auto opened = ClusterAccess::open(flags.plan);
  if (!opened.ok()) return fail(Doing::kConnect, opened.status());
  const auto access = *std::move(opened);
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
