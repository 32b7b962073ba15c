#include "shoal/shrink/retraining/retrain.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "shoal/base/timing/closed_loop.h"
#include "shoal/model/graph/random_inputs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/step/graph/features.h"

namespace shoal::shrink {
namespace {

constexpr size_t kChannelAxis = 1;

Result<ValueId> without_channels(Graph& graph, ValueId id, const std::vector<int64_t>& gone) {
  if (gone.empty()) return id;
  const int64_t channels = graph[id].type.shape[kChannelAxis];
  std::vector<int64_t> kept;
  for (int64_t channel = 0; channel < channels; ++channel) {
    if (std::ranges::find(gone, channel) == gone.end()) kept.push_back(channel);
  }
  if (kept.empty() || kept.size() + gone.size() != static_cast<size_t>(channels)) {
    return invalid(graph[id].name + " does not have these channels");
  }
  const ValueId indices = graph.add_constant(
      "", Tensor::of<int64_t>({std::ssize(kept)}, std::span<const int64_t>(kept)));
  return graph.add(ops::gather, {id, indices}, {{"axis", static_cast<int64_t>(kChannelAxis)}});
}

}  // namespace

Status check_recipe(fit::TrainingOptions recipe, const std::string& user,
                    bool allows_from_scratch) {
  const bool is_refused = recipe.from_scratch && !allows_from_scratch;
  if (recipe.retarget > 0 || is_refused || recipe.patience > 0) {
    return invalid(user + " no recipe with retarget" +
                   (allows_from_scratch ? " or patience" : ", from_scratch or patience"));
  }
  recipe.teacher.clear();
  recipe.loss.distill = 0;
  return fit::check(recipe);
}

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

StageChannels channels_of(const Graph& graph, const compress::Groups& groups,
                          std::span<const size_t> units) {
  const std::vector<ValueId> ends = train::stage_ends(graph);
  StageChannels gone(ends.size());
  for (size_t unit : units) {
    for (const compress::Cell& cell : groups.units[unit].cells) {
      const auto end = std::ranges::find(ends, cell.value);
      if (end == ends.end() || cell.axis != kChannelAxis) continue;
      gone[static_cast<size_t>(end - ends.begin())].push_back(cell.index);
    }
  }
  return gone;
}

NetworkForBatch with_features(NetworkForBatch teacher, StageChannels gone) {
  return
      [teacher = std::move(teacher), gone = std::move(gone)](int64_t batch) -> Result<LoadedGraph> {
        SHOAL_ASSIGN(LoadedGraph loaded, teacher(batch));
        const std::vector<ValueId> ends = train::stage_ends(loaded.graph);
        if (ends.empty() || (!gone.empty() && gone.size() != ends.size())) {
          return invalid("the teacher has " + std::to_string(ends.size()) + " stages");
        }
        for (size_t i = 0; i < ends.size(); ++i) {
          const std::vector<int64_t> none;
          SHOAL_ASSIGN(const ValueId end,
                       without_channels(loaded.graph, ends[i], gone.empty() ? none : gone[i]));
          loaded.graph.mark_output(end);
        }
        return loaded;
      };
}

}  // namespace shoal::shrink
