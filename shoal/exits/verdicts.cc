#include "shoal/exits/verdicts.h"

#include "shoal/data/prefetch.h"
#include "shoal/fit/scores.h"
#include "shoal/passes/passes.h"
#include "shoal/train/step_graph.h"

namespace shoal::exits {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

Verdict verdict_on(std::span<const float> scores, bool probabilities, int64_t label) {
  const auto best = static_cast<size_t>(fit::best_class(scores));
  return {.probability = probabilities ? double{scores[best]} : fit::softmax(scores)[best],
          .correct = fit::rank_of(scores, label) == 0};
}

}  // namespace

Result<Verdicts> verdicts_of(Device& device, const MultiExit& network, const Batches& batches) {
  const size_t exits = network.graph.outputs().size();
  Verdicts verdicts{.exits = std::vector<std::vector<Verdict>>(exits)};
  if (batches.per_epoch() == 0) return verdicts;
  const bool softmax = train::scores_of(network.graph) != network.graph.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network.graph));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
  std::vector<Tensor> outputs(exits);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    for (size_t output = 0; output < exits; ++output) {
      const auto classes = static_cast<size_t>(outputs[output].shape()[1]);
      // The first output is the last classifier's.
      auto& own = verdicts.exits[output == 0 ? exits - 1 : output - 1];
      for (size_t row = 0; row < batch.fresh; ++row) {
        const auto scores = outputs[output].data<float>().subspan(row * classes, classes);
        own.push_back(
            verdict_on(scores, output == 0 && softmax, batch.labels.data<int64_t>()[row]));
      }
    }
  }
  return verdicts;
}

}  // namespace shoal::exits
