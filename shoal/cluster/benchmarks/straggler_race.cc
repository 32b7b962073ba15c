#include "shoal/cluster/benchmarks/straggler_race.h"

#include "shoal/cluster/benchmarks/plan_race.h"
#include "shoal/model/graph/random_inputs.h"

namespace shoal::cluster {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<std::unique_ptr<StragglerRace>> StragglerRace::deploy(Coordinator& coordinator,
                                                             plan::Prediction first,
                                                             plan::Prediction second) {
  SHOAL_ASSIGN(auto one, coordinator.deploy(first.scheduled));
  SHOAL_ASSIGN(auto other, coordinator.deploy(second.scheduled));
  return std::unique_ptr<StragglerRace>(new StragglerRace(
      coordinator, {std::move(first), std::move(one)}, {std::move(second), std::move(other)}));
}

Result<StragglerResult> StragglerRace::run(const StragglerOptions& options) {
  const StragglerOptions::Seconds pause(options.times * first_.prediction.timeline.longest_task() *
                                        options.dilation);
  const std::vector<WorkerInfo> workers = coordinator_.workers();
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  StragglerResult result;
  do {
    SHOAL_TRY(options.slow_down(workers[random_() % workers.size()].name));
    SHOAL_TRY(ask(first_, options, result.first));
    options.pause(pause);
    SHOAL_TRY(ask(second_, options, result.second));
  } while (Clock::now() < end);
  return result;
}

Status StragglerRace::ask(const Runner& runner, const StragglerOptions& options,
                          LatencyRecorder& latencies) {
  const Graph& graph = runner.prediction.graph();
  const std::vector<Tensor> inputs = random_inputs(graph, random_);
  std::vector<Tensor> outputs(graph.outputs().size());
  const double expected = runner.prediction.timeline.seconds * options.times * options.dilation;
  const auto begin = Clock::now();
  SHOAL_TRY(runner.deployed->run(inputs, outputs, generous_timeout(expected)));
  const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
  latencies.add(took.count() / options.dilation);
  return {};
}

}  // namespace shoal::cluster
