#include <optional>

#include "../exit_codes.h"
#include "../print_found.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/race_facts.h"
#include "shoal/devices/devices.h"

namespace shoal::cli {
Outcome bench_verify(const ClusterBenchFlags& flags) {
  SHOAL_OR_EXIT(const auto access, Doing::kConnect, open_access(flags.plan));
  SHOAL_OR_EXIT(
      const Planned planned, Exit::kModel,
      make_planned(flags.plan, [&](const Graph& graph) { return access->profile(graph); }));
  SHOAL_OR_EXIT(const auto judge, Exit::kUsage, make_device("cpu", {.cpu = {.threads = 1}}));
  std::optional<ShapedLinks> shaped;  // from when the weights have travelled
  const auto result = cluster::race_verification(access->coordinator(), planned.best(), *judge,
                                                 {.every = flags.plan.verify,
                                                  .seconds = flags.seconds,
                                                  .dilation = access->dilation(),
                                                  .deployed = [&] { shaped.emplace(*access); }});
  if (!result.ok()) return fail(Doing::kTalk, result.status());
  print_found(flags.json, *result, flags.plan.verify);
  return {};
}

}  // namespace shoal::cli
