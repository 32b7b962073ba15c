// The benches of other things than one plan: a deployment beside requests, stragglers, checks, and
// streams.
#include "../exit_codes.h"
#include "../facts.h"
#include "apps/cluster_commands/races.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::cli {
namespace {

// How fast these workers are at a graph.
ProfileOf profile_on(const std::unique_ptr<ClusterAccess>& access) {
  return [&access](const Graph& graph) { return access->profile(graph); };
}

}  // namespace

// A small model answers all the time. Half of the large one is deployed by a coordinator that goes
// away then, the other half by the one that asks, so that weights and requests share their
// connections.
Outcome bench_deployment(const ClusterBenchFlags& flags) {
  cluster::DeploymentLoad load;
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan, load.observer()));
  PlanFlags other = flags.plan;
  other.model = flags.deployed;
  SHOAL_OR_EXIT(const Planned small, Exit::kModel, make_planned(flags.plan, profile_on(access)));
  SHOAL_OR_EXIT(const Planned large, Exit::kModel, make_planned(other, profile_on(access)));
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

// The same request to a plan that goes on with the first answers that suffice, and to one that
// waits for all, while another worker is slow each time.
Outcome bench_stragglers(const ClusterBenchFlags& flags) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_TRY_OR_EXIT(Exit::kUsage, emulate::check_stragglers(*access, flags.plan.survive));
  const plan::PlanOptions options = options_of(flags.plan);
  const plan::PlanOptions waiting = without_spare(options, access->coordinator().worker_count());
  SHOAL_OR_EXIT(const Planned coded, Exit::kModel,
                make_planned(flags.plan, options, profile_on(access)));
  SHOAL_OR_EXIT(const Planned plain, Exit::kModel,
                make_planned(flags.plan, waiting, profile_on(access)));
  const auto result = emulate::race_stragglers(*access, coded.best(), plain.best(), flags.seconds,
                                               flags.stragglers);
  if (!result.ok()) return fail(Doing::kTalk, result.status());
  print_found(flags.json, *result, cluster::RacedPlans{coded.best().name, plain.best().name});
  return {};
}

Outcome bench_verify(const ClusterBenchFlags& flags) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(const Planned planned, Exit::kModel, make_planned(flags.plan, profile_on(access)));
  SHOAL_OR_EXIT(const auto judge, Exit::kUsage, make_device("cpu", {.cpu = {.threads = 1}}));
  const auto result =
      emulate::race_checks(*access, planned.best(), *judge, flags.plan.verify, flags.seconds);
  if (!result.ok()) return fail(Doing::kTalk, result.status());
  print_found(flags.json, *result, flags.plan.verify);
  return {};
}

Outcome bench_stream(const ClusterBenchFlags& flags) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(const PlannedStream planned, Exit::kModel,
                make_planned_stream(flags.plan, profile_on(access)));
  if (flags.balance) {
    SHOAL_OR_EXIT(const auto steps, Exit::kNetwork,
                  emulate::measure_balance(*access, planned, flags.plan.survive));
    flags.json ? print_json(to_json(steps)) : table_of(rows_of(steps)).print();
    return {};
  }
  SHOAL_OR_EXIT(const auto figures, Exit::kNetwork,
                emulate::measure_stream_beside_one(*access, planned, stream_options(flags.plan),
                                                   is_forced(flags.plan)));
  if (flags.json) {
    print_json(emulate::with_figures(to_json(planned), planned, figures));
    return {};
  }
  std::printf("Between two answers:\n");
  table_of(rows_of(planned, figures)).print();
  std::printf("%s\n", conclusion_of(planned, figures).c_str());
  return {};
}

}  // namespace shoal::cli
