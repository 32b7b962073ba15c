// The bench of a deployment. A small model answers all the time. Half of the large one is deployed
// by a coordinator that goes away then, the other half by the one that asks, so that weights and
// requests share their connections.
#include "../exit_codes.h"
#include "../print_found.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/race_facts.h"

namespace shoal::cli {
Outcome bench_deployment(const ClusterBenchFlags& flags) {
  cluster::DeploymentLoad load;
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan, load.observer()));
  const auto profile = [&](const Graph& graph) { return access->profile(graph); };
  PlanFlags other = flags.plan;
  other.model = flags.deployed;
  SHOAL_OR_EXIT(const Planned small, Exit::kModel, make_planned(flags.plan, profile));
  SHOAL_OR_EXIT(const Planned large, Exit::kModel, make_planned(other, profile));
  const auto deploy_half = [&](const plan::ScheduledPlan& plan) -> Status {
    SHOAL_ASSIGN(const auto other_access, open_access(flags.plan, load.interrupter()));
    return other_access->coordinator().deploy(plan).status();
  };
  const ShapedLinks shaped(*access);
  const auto figures = load.run(access->coordinator(), {.small = small.best().scheduled,
                                                        .large = large.best().scheduled,
                                                        .deploy_half = deploy_half,
                                                        .seconds = flags.seconds,
                                                        .dilation = access->dilation()});
  if (!figures.ok()) return fail(Doing::kTalk, figures.status());
  const double bytes_per_second = large.cluster.links.front().bytes_per_second;
  print_found(flags.json, *figures, bytes_per_second);
  return {};
}

}  // namespace shoal::cli
