// The bench of a stream that balances itself: one line for the beginning and one for each move.
#include "balance_bench.h"

#include <cstdio>
#include <numeric>

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

void print(const std::vector<BalanceStep>& steps, bool as_json) {
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
  std::printf("%s\n", result.dump().c_str());
}

Outcome bench(ClusterAccess& access, const PlannedStream& planned, bool as_json) {
  std::vector<int> workers(planned.cluster.workers.size());
  std::iota(workers.begin(), workers.end(), 0);
  SHOAL_OR_EXIT(
      const auto stream, Exit::kNetwork,
      BalancedStream::start(access.coordinator(), planned.graph, planned.cluster,
                            plan::simple_pipeline(planned.graph, workers), access.dilation()));
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(planned.graph, rng);
  LoadGenerator load(2 * workers.size(), [&](size_t) {
    std::vector<Tensor> outputs(planned.graph.outputs().size());
    return stream->run(inputs, outputs, kTimeout);
  });
  const ShapedLinks shaped(access);
  SHOAL_OR_EXIT(const auto steps, Exit::kNetwork, settle(*stream, load, access.dilation()));
  print(steps, as_json);
  return {};
}

}  // namespace

Outcome bench_balance(const ClusterBenchFlags& flags) {
  if (flags.plan.survive > 0) {
    return {Exit::kUsage, "--balance moves stages of one worker each, which --survive repeats"};
  }
  return with_planned_stream(flags, [&](ClusterAccess& access, const PlannedStream& planned) {
    return bench(access, planned, flags.json);
  });
}

}  // namespace shoal::cli
