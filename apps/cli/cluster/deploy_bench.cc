// The bench of a deployment. A small model answers all the time. Half of the large one is deployed
// by a coordinator that goes away then, the other half by the one that asks, so that weights and
// requests share their connections.
#include <cstdio>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/deployment_load.h"

namespace shoal::cli {
namespace {

using cluster::DeploymentFigures;

Json deployment_json(const DeploymentFigures& figures, double link_use) {
  const auto quantiles = [](const LatencyRecorder& latencies) {
    return Json{{"requests", latencies.count()},
                {"p50_ms", latencies.quantile(0.5)},
                {"p99_ms", latencies.quantile(0.99)}};
  };
  return {
      {"calm", quantiles(figures.calm)},
      {"deploying", quantiles(figures.busy)},
      {"seconds", figures.seconds},
      {"weight_bytes", figures.needed},
      {"sent_bytes", figures.sent},
      {"request_bytes", figures.asked},
      {"sent_again", static_cast<double>(figures.sent) / static_cast<double>(figures.needed) - 1},
      {"link_use", link_use}};
}

void print_deployment(const DeploymentFigures& figures, double link_use) {
  Table table({"", "requests", "p50 ms", "p99 ms"});
  const auto add = [&](const char* name, const LatencyRecorder& latencies) {
    table.add({name, std::to_string(latencies.count()), fixed(latencies.quantile(0.5), 1),
               fixed(latencies.quantile(0.99), 1)});
  };
  add("calm", figures.calm);
  add("while weights travel", figures.busy);
  table.print();
  std::printf("%.0f MB in %.1f s, %.0f %% of the link; %.2f %% sent twice\n",
              static_cast<double>(figures.needed) / 1e6, figures.seconds, 100 * link_use,
              100 * (static_cast<double>(figures.sent) / static_cast<double>(figures.needed) - 1));
}

}  // namespace

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
  const double use =
      static_cast<double>(figures->sent + figures->asked) / figures->seconds / bytes_per_second;
  flags.json ? static_cast<void>(std::printf("%s\n", deployment_json(*figures, use).dump().c_str()))
             : print_deployment(*figures, use);
  return {};
}

}  // namespace shoal::cli
