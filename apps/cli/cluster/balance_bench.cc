// The bench of a stream that balances itself: one line for the beginning and one for each move.

#include <cstdio>

#include "../table.h"
#include "apps/flags/json.h"
#include "shoal/cluster/balanced_stream.h"
#include "shoal/graph/random_inputs.h"
#include "stream_bench.h"

namespace shoal::cli {
namespace {

using cluster::BalancedStream;
using cluster::BalanceStep;

constexpr std::chrono::minutes kTimeout{10};
std::string name_of(const BalanceStep& step) {
  return step.move.empty() ? "layers dealt out evenly" : step.move;
}

void print_balance(const std::vector<BalanceStep>& steps, bool as_json) {
  if (!as_json) {
    Table table({"", "ms between answers"});
    for (const BalanceStep& step : steps) table.add({name_of(step), fixed(1e3 * step.seconds, 1)});
    table.print();
    return;
  }
  Json result = {{"moves", steps.size() - 1},
                 {"before_ms", 1e3 * steps.front().seconds},
                 {"after_ms", 1e3 * steps.back().seconds},
                 {"speedup", steps.front().seconds / steps.back().seconds}};
  for (const BalanceStep& step : steps) {
    result["steps"].push_back({{"move", name_of(step)}, {"ms", 1e3 * step.seconds}});
  }
  print_json(result);
}

Outcome bench(ClusterAccess& access, const PlannedStream& planned, const ClusterBenchFlags& flags) {
  std::vector<int> workers;
  for (int w = 0; w < std::ssize(planned.cluster.workers); ++w) {
    if (planned.cluster.workers[static_cast<size_t>(w)].present) workers.push_back(w);
  }
  SHOAL_OR_EXIT(
      const auto stream, Exit::kNetwork,
      BalancedStream::start(access.coordinator(), planned.graph, planned.cluster,
                            plan::simple_pipeline(planned.graph, workers),
                            {.dilation = access.dilation(), .survive = flags.plan.survive}));
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(planned.graph, rng);
  LoadGenerator load(2 * workers.size(), [&](size_t) {
    std::vector<Tensor> outputs(planned.graph.outputs().size());
    return stream->run(inputs, outputs, kTimeout);
  });
  const ShapedLinks shaped(access);
  SHOAL_OR_EXIT(const auto steps, Exit::kNetwork, settle(*stream, load, access.dilation()));
  print_balance(steps, flags.json);
  return {};
}

}  // namespace

Outcome bench_balance(const ClusterBenchFlags& flags) {
  return with_planned_stream(flags, [&](ClusterAccess& access, const PlannedStream& planned) {
    return bench(access, planned, flags);
  });
}

}  // namespace shoal::cli
