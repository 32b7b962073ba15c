// The bench of stragglers: the same request to a plan that goes on with the first answers that
// suffice, and to one that waits for all, while another worker is slow each time.
#include "../exit_codes.h"
#include "../print_found.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/race_facts.h"

namespace shoal::cli {
Outcome bench_stragglers(const ClusterBenchFlags& flags) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  if (!access->emulated() || flags.plan.survive == 0) {
    return {Exit::kUsage, "--stragglers is for emulated workers and --survive"};
  }
  const auto profile = [&](const Graph& graph) { return access->profile(graph); };
  const plan::PlanOptions options = options_of(flags.plan);
  const size_t workers = access->coordinator().worker_count();
  SHOAL_OR_EXIT(const Planned coded, Exit::kModel, make_planned(flags.plan, options, profile));
  SHOAL_OR_EXIT(const Planned plain, Exit::kModel,
                make_planned(flags.plan, without_spare(options, workers), profile));
  SHOAL_OR_EXIT(const auto race, Exit::kNetwork,
                cluster::StragglerRace::deploy(access->coordinator(), coded.best(), plain.best()));
  const ShapedLinks shaped(*access);
  const auto result = race->run({.seconds = flags.seconds,
                                 .dilation = access->dilation(),
                                 .times = flags.stragglers,
                                 .slow_down = [&](const std::string& worker) {
                                   return access->slow_down(worker, flags.stragglers);
                                 }});
  if (!result.ok()) return fail(Doing::kTalk, result.status());
  print_found(flags.json, *result, cluster::RacedPlans{coded.best().name, plain.best().name});
  return {};
}

}  // namespace shoal::cli
