#include "shoal/shrink/retraining/retrain.h"

#include <chrono>
#include <memory>
#include <random>

#include "shoal/base/timing/closed_loop.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"

namespace shoal::shrink {

Result<Trained> retrain(Device& device, const NetworkForBatch& network,
                        const NetworkForBatch& teacher, const fit::TrainingData& data,
                        fit::TrainingOptions recipe, const fit::TrainingCallbacks& callbacks,
                        std::optional<train::UnitPenalty> penalty) {
  const auto batch = static_cast<int64_t>(recipe.batch);
  fit::TrainingTask task{.network = {}, .data = data, .teacher = {}, .penalty = std::move(penalty)};
  SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
  task.network = std::move(loaded.graph);
  recipe.teacher.clear();
  if (recipe.loss.distill > 0) {
    SHOAL_ASSIGN(LoadedGraph teaching, teacher(batch));
    task.teacher = std::move(teaching.graph);
    recipe.teacher = "a network of this run";  // the options must say that there is one
  }
  SHOAL_ASSIGN(fit::TrainingLoop loop,
               fit::TrainingLoop::create(device, std::move(task), std::move(recipe), callbacks));
  SHOAL_ASSIGN(const fit::StopReason reason, loop.run());
  if (reason == fit::StopReason::kCancelled) return Status(Code::kCancelled, "interrupted");
  SHOAL_TRY(loop.finish());  // it may have ended in another process
  Weights weights = loop.weights();
  return Trained{with_weights(network, weights), loop.evaluation().top1(), std::move(weights)};
}

Result<double> top1_of(Device& device, const NetworkForBatch& network, const Dataset& examples,
                       const fit::TrainingOptions& recipe) {
  SHOAL_ASSIGN(const LoadedGraph loaded, network(static_cast<int64_t>(recipe.batch)));
  const Batches batches(examples, fit::images_for(loaded.graph, recipe.preprocess),
                        fit::evaluation_batches(recipe, fit::classes_of(loaded.graph)));
  SHOAL_ASSIGN(const fit::Evaluation evaluation, fit::evaluate(device, loaded.graph, batches));
  return evaluation.top1();
}

Result<std::vector<double>> measured_ms(Device& device,
                                        const std::vector<NetworkForBatch>& networks,
                                        double seconds) {
  struct Timed {
    std::unique_ptr<Executable> executable;
    std::vector<Tensor> inputs, outputs;
    LatencyRecorder times;
  };
  std::vector<Timed> all;
  std::mt19937 rng(1);
  for (const NetworkForBatch& network : networks) {
    SHOAL_ASSIGN(const LoadedGraph loaded, network(1));
    SHOAL_ASSIGN(const Graph graph, passes::optimize(loaded.graph));
    Timed& timed = all.emplace_back();
    SHOAL_ASSIGN(timed.executable, device.compile(graph));
    timed.inputs = random_inputs(graph, rng);
    timed.outputs.resize(graph.outputs().size());
  }
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    for (Timed& timed : all) {
      const auto run = [&] { return timed.executable->run(timed.inputs, timed.outputs, {}); };
      SHOAL_TRY(run());  // the caches are full of another network's data
      SHOAL_ASSIGN(const LatencyRecorder times,
                   time_runs(std::chrono::duration<double>(seconds / kRounds), run));
      timed.times += times;
    }
  }
  std::vector<double> fastest;
  for (const Timed& timed : all) fastest.push_back(timed.times.quantile(0.1));
  return fastest;
}

}  // namespace shoal::shrink
