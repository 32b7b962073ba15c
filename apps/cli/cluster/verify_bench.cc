#include <cstdio>
#include <optional>

#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/verify_race.h"
#include "shoal/devices/devices.h"

namespace shoal::cli {
namespace {

void print_race(const cluster::VerifyRaceResult& result, uint64_t every, bool as_json) {
  const double cost = result.verified.mean() / result.plain.mean() - 1;
  if (as_json) {
    const Json json = {{"requests", result.plain.count() + result.verified.count()},
                       {"mean_ms", result.plain.mean()},
                       {"p99_ms", result.plain.quantile(0.99)},
                       {"verified_mean_ms", result.verified.mean()},
                       {"verified_p99_ms", result.verified.quantile(0.99)},
                       {"verify_cost", cost},
                       {"checked", result.checks.checked},
                       {"disputed", result.checks.disputed},
                       {"accused", result.accused}};
    print_json(json);
    return;
  }
  Table table({"", "requests", "mean ms", "p99 ms"});
  const auto add = [&](const std::string& what, const LatencyRecorder& took) {
    table.add(
        {what, std::to_string(took.count()), fixed(took.mean(), 2), fixed(took.quantile(0.99), 2)});
  };
  add("as it is", result.plain);
  add("one of " + std::to_string(every) + " checked", result.verified);
  table.print();
  std::printf("to verify costs %.1f %%; %llu requests were checked, %llu of them disputed\n",
              100 * cost, static_cast<unsigned long long>(result.checks.checked),
              static_cast<unsigned long long>(result.checks.disputed));
  for (const auto& [name, times] : result.accused) {
    std::printf("worker %s was wrong in %d of them\n", name.c_str(), times);
  }
}

}  // namespace

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
  print_race(*result, flags.plan.verify, flags.json);
  return {};
}

}  // namespace shoal::cli
