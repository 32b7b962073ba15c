// The bench of a stream that balances itself: one line for the beginning and one for each move.

#include "../facts.h"
#include "shoal/cluster/race_facts.h"
#include "shoal/graph/random_inputs.h"
#include "stream_bench.h"

namespace shoal::cli {
namespace {

constexpr std::chrono::minutes kTimeout{10};
Outcome bench(ClusterAccess& access, const PlannedStream& planned, const ClusterBenchFlags& flags) {
  std::vector<int> workers;
  for (int w = 0; w < std::ssize(planned.cluster.workers); ++w) {
    if (planned.cluster.workers[static_cast<size_t>(w)].present) workers.push_back(w);
  }
  SHOAL_OR_EXIT(const auto stream, Exit::kNetwork,
                cluster::BalancedStream::start(
                    access.coordinator(), planned.graph, planned.cluster,
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
  flags.json ? print_json(to_json(steps)) : table_of(cluster::rows_of(steps)).print();
  return {};
}

}  // namespace

Outcome bench_balance(const ClusterBenchFlags& flags) {
  return with_planned_stream(flags, [&](ClusterAccess& access, const PlannedStream& planned) {
    return bench(access, planned, flags);
  });
}

}  // namespace shoal::cli
