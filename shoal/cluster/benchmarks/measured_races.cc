#include "shoal/cluster/benchmarks/measured_races.h"

#include <chrono>
#include <optional>
#include <random>

#include "shoal/model/graph/random_inputs.h"

namespace shoal::emulate {

Result<StreamFigures> measure_stream_beside_one(ClusterAccess& access,
                                                const plan::StreamComparison& made,
                                                const plan::StreamOptions& how, bool forced) {
  StreamFigures figures{.single = 1 / made.single_per_second,
                        .slowdown = access.connection().slowdown(),
                        .shares_machine = access.connection().shares_machine()};
  if (made.single_fits) {
    plan::StreamOptions alone = how;
    alone.stages = alone.replicas = false;
    alone.survive = 0;
    SHOAL_ASSIGN(const plan::StreamComparison single,
                 plan::compare_streams(made.graph, made.cluster, alone));
    SHOAL_ASSIGN(figures.single, measure_stream(access, single, alone, /*forced=*/false));
  }
  SHOAL_ASSIGN(figures.stream, measure_stream(access, made, how, forced));
  figures.dilation = access.dilation();
  return figures;
}

Result<std::vector<cluster::BalanceStep>> measure_balance(ClusterAccess& access,
                                                          const plan::StreamComparison& made,
                                                          int survive) {
  constexpr std::chrono::minutes kTimeout{10};
  std::vector<int> workers;
  for (int w = 0; w < std::ssize(made.cluster.workers); ++w) {
    if (made.cluster.workers[static_cast<size_t>(w)].present) workers.push_back(w);
  }
  SHOAL_ASSIGN(const auto stream,
               cluster::BalancedStream::start(access.coordinator(), made.graph, made.cluster,
                                              plan::simple_pipeline(made.graph, workers),
                                              {.dilation = access.dilation(), .survive = survive}));
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs = random_inputs(made.graph, rng);
  LoadGenerator load(2 * workers.size(), [&](size_t) {
    std::vector<Tensor> outputs(made.graph.outputs().size());
    return stream->run(inputs, outputs, kTimeout);
  });
  const ShapedLinks shaped(access);
  return settle(*stream, load, access.dilation());
}

Status check_stragglers(const ClusterAccess& access, int survive) {
  if (access.emulated() && survive > 0) return {};
  return invalid("--stragglers is for emulated workers and --survive");
}

Result<cluster::StragglerResult> race_stragglers(ClusterAccess& access,
                                                 const plan::Prediction& first,
                                                 const plan::Prediction& waiting, double seconds,
                                                 double times) {
  SHOAL_ASSIGN(const auto race,
               cluster::StragglerRace::deploy(access.coordinator(), first, waiting));
  const ShapedLinks shaped(access);
  return race->run(
      {.seconds = seconds,
       .dilation = access.dilation(),
       .times = times,
       .slow_down = [&](const std::string& worker) { return access.slow_down(worker, times); }});
}

Result<cluster::VerifyRaceResult> race_checks(ClusterAccess& access, const plan::Prediction& plan,
                                              Device& judge, uint64_t every, double seconds) {
  std::optional<ShapedLinks> shaped;
  return cluster::race_verification(
      access.coordinator(), plan, judge,
      {.every = every, .seconds = seconds, .dilation = access.dilation(), .deployed = [&] {
         shaped.emplace(access);
       }});
}

}  // namespace shoal::emulate
