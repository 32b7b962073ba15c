// The bench of stragglers: the same request to a plan that goes on with the first answers that
// suffice, and to one that waits for all, while another worker is slow each time.
#include "../exit_codes.h"
#include "../table.h"
#include "apps/flags/json.h"
#include "cluster_access.h"
#include "cluster_bench.h"
#include "shoal/cluster/straggler_race.h"

namespace shoal::cli {
namespace {

// A plan, and what it took.
struct Contender {
  std::string plan;
  LatencyRecorder took;
};

void print_race(const Contender& coded, const Contender& waiting, bool as_json) {
  const auto less = [](double a, double b) { return 1 - a / b; };
  if (as_json) {
    const Json result = {
        {"requests", coded.took.count()},
        {"mean_ms", coded.took.mean()},
        {"p99_ms", coded.took.quantile(0.99)},
        {"waiting_mean_ms", waiting.took.mean()},
        {"waiting_p99_ms", waiting.took.quantile(0.99)},
        {"mean_saved", less(coded.took.mean(), waiting.took.mean())},
        {"p99_saved", less(coded.took.quantile(0.99), waiting.took.quantile(0.99))}};
    print_json(result);
    return;
  }
  Table table({"", "plan", "requests", "mean ms", "p99 ms"});
  const auto add = [&](const char* what, const Contender& one) {
    table.add({what, one.plan, std::to_string(one.took.count()), fixed(one.took.mean(), 1),
               fixed(one.took.quantile(0.99), 1)});
  };
  add("the first that are enough", coded);
  add("all, one worker fewer", waiting);
  table.print();
}

}  // namespace

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
  print_race({coded.best().name, result->first}, {plain.best().name, result->second}, flags.json);
  return {};
}

}  // namespace shoal::cli
