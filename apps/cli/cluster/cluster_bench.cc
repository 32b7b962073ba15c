// The bench of one plan.
#include "cluster_bench.h"

#include <cstdio>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "shoal/base/atomic_file.h"
#include "shoal/report/plan_page.h"

namespace shoal::cli {
namespace {

using emulate::PlanFigures;
using plan::Prediction;
using plan::Timeline;

std::string conclusion_of(const Planned& planned, const PlanFigures& figures) {
  return plan::conclusion_text(with_measured(planned, figures.single, figures.many),
                               emulate::evidence_of(planned, figures));
}

Json bench_json(const Planned& planned, const PlanFigures& figures) {
  Json result = to_json(planned);
  const Timeline &one = figures.single, &all = figures.many;
  result["single_ms"] = 1e3 * one.seconds;
  result["cluster_ms"] = 1e3 * all.seconds;
  result["speedup"] = figures.speedup();
  result["predicted_speedup"] = planned.speedup();
  result["advice"] = conclusion_of(planned, figures);
  result["single_predicted_ms"] = 1e3 * planned.single.timeline.seconds;
  result["rounds"] = figures.rounds;
  result["dilation"] = figures.dilation;
  result["lateness"] = figures.lateness;
  for (size_t w = 0; w < all.compute_seconds.size(); ++w) {
    result["workers"][w]["compute_ms"] = 1e3 * all.compute_seconds[w];
    result["workers"][w]["transfer_ms"] = 1e3 * all.transfer_seconds[w];
  }
  return result;
}

void print_planned(const Planned& planned, const PlanFigures& figures) {
  const Prediction& best = planned.best();
  Table segments({"nodes", "split", "predicted ms", "measured ms"});
  for (size_t s = 0; s < best.plan().segments.size(); ++s) {
    const plan::Segment& segment = best.plan().segments[s];
    segments.add(
        {std::to_string(segment.nodes.begin) + " to " + std::to_string(segment.nodes.end - 1),
         segment.split, fixed(1e3 * best.timeline.segment_seconds(s), 1),
         fixed(1e3 * figures.many.segment_seconds(s), 1)});
  }
  segments.print();
  std::printf("\n");
  Table workers({"worker", "compute ms", "transfer ms"});
  for (size_t w = 0; w < planned.cluster.workers.size(); ++w) {
    workers.add({planned.cluster.workers[w].name, fixed(1e3 * figures.many.compute_seconds[w], 1),
                 fixed(1e3 * figures.many.transfer_seconds[w], 1)});
  }
  workers.print();
  std::printf("\n");
  Table table({"", "predicted ms", "measured ms"});
  table.add({"one worker", fixed(1e3 * planned.single.timeline.seconds, 1),
             planned.single_fits ? fixed(1e3 * figures.single.seconds, 1) : "no memory"});
  table.add(
      {best.name, fixed(1e3 * best.timeline.seconds, 1), fixed(1e3 * figures.many.seconds, 1)});
  table.add({"speed-up", fixed(planned.speedup(), 2), fixed(figures.speedup(), 2)});
  table.print();
  std::printf("%s\n", conclusion_of(planned, figures).c_str());
}

}  // namespace

Outcome bench_cluster(const ClusterBenchFlags& flags) {
  if (flags.balance && !flags.plan.is_stream()) {
    return {Exit::kUsage, "--balance is for --objective throughput"};
  }
  if (!flags.deployed.empty()) return bench_deployment(flags);
  if (flags.stragglers > 1) return bench_stragglers(flags);
  if (flags.plan.verify > 0) return bench_verify(flags);
  if (flags.plan.is_stream()) return flags.balance ? bench_balance(flags) : bench_stream(flags);
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(Planned planned, Doing::kRun, make_planned(flags.plan, [&](const Graph& graph) {
                  return access->profile(graph);
                }));
  const auto figures = measure(*access, planned, flags.seconds, flags.strict);
  if (!figures.ok()) return fail(Doing::kTalk, figures.status());
  access->connection().compare(planned.single.graph(), planned.single.timeline.seconds,
                               figures->single.seconds);
  if (conclude(emulate::evidence_of(planned, *figures)).needs_profile()) {
    access->connection().forget_profiles(planned.single.graph());
  }
  if (!flags.html.empty()) {
    const auto measured = with_measured(planned, figures->single, figures->many);
    const Status written = write_file(flags.html, report::plan_page(planned.model, measured));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  flags.json ? print_json(bench_json(planned, *figures)) : print_planned(planned, *figures);
  return {};
}

}  // namespace shoal::cli
