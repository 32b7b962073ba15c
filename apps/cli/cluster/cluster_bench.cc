// The bench of one plan.
#include "cluster_bench.h"

#include <cstdio>

#include "../exit_codes.h"
#include "../facts.h"
#include "apps/cluster_commands/races.h"
#include "cluster_access.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/report/pages/plan_page.h"

namespace shoal::cli {
namespace {

void print_planned(const Planned& planned, const emulate::PlanFigures& figures) {
  table_of(segment_rows(planned, figures)).print();
  std::printf("\n");
  table_of(worker_rows(planned, figures)).print();
  std::printf("\n");
  table_of(rows_of(planned, figures)).print();
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
  if (flags.plan.is_stream()) return bench_stream(flags);
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(Planned planned, Doing::kRun, make_planned(flags.plan, [&](const Graph& graph) {
                  return access->profile(graph);
                }));
  const auto figures = measure(*access, planned, flags.seconds, flags.strict);
  if (!figures.ok()) return fail(Doing::kTalk, figures.status());
  judge_profiles(*access, planned, *figures);
  if (!flags.html.empty()) {
    const auto measured = with_measured(planned, figures->single, figures->many);
    const Status written = write_file(flags.html, report::plan_page(planned.model, measured));
    if (!written.ok()) return fail(Exit::kResources, written);
  }
  flags.json ? print_json(emulate::with_figures(to_json(planned), planned, *figures))
             : print_planned(planned, *figures);
  return {};
}

}  // namespace shoal::cli
