#include "shoal/shrink/exits/inference/scores_by_exit.h"

#include <cmath>

#include "shoal/model/passes/passes.h"
#include "shoal/train/data/prefetch.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::exits {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

}  // namespace

Result<ExitScores> scores_by_exit(Device& device, const MultiExit& network,
                                  const Batches& batches) {
  const size_t exits = network.graph.outputs().size();
  ExitScores scores{.classes = 0, .labels = {}, .exits = std::vector<std::vector<float>>(exits)};
  if (batches.per_epoch() == 0) return scores;
  const bool softmax = train::scores_of(network.graph) != network.graph.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network.graph));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
  std::vector<Tensor> outputs(exits);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    const auto labels = batch.labels.data<int64_t>().first(batch.fresh);
    scores.labels.insert(scores.labels.end(), labels.begin(), labels.end());
    for (size_t output = 0; output < exits; ++output) {
      scores.classes = static_cast<size_t>(outputs[output].shape()[1]);
      // The first output is the last classifier's.
      auto& own = scores.exits[output == 0 ? exits - 1 : output - 1];
      for (float x : outputs[output].data<float>().first(batch.fresh * scores.classes)) {
        own.push_back(output == 0 && softmax ? std::log(x) : x);
      }
    }
  }
  return scores;
}

}  // namespace shoal::exits
