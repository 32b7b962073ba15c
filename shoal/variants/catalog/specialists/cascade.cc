#include "shoal/variants/catalog/specialists/cascade.h"

#include <algorithm>
#include <cmath>

#include "shoal/engine/run/scores.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/data/prefetch.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::catalog {
namespace {

constexpr uint64_t kOtherStream = 0x6f746872;  // "othr": a stream that nothing else draws from
constexpr double kNoAnswer = -1, kLeastThreshold = 1e-9;

// At most so many of them, which the seed draws.
std::vector<size_t> drawn(const std::vector<size_t>& from, size_t most, uint64_t seed) {
  const std::vector<size_t> order = shuffled(from.size(), RandomStream(seed, kOtherStream));
  std::vector<size_t> some;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) some.push_back(from[order[i]]);
  return some;
}

}  // namespace

Stream stream_of(std::span<const int64_t> labels, std::span<const int64_t> classes, double other,
                 uint64_t seed, int64_t per_class) {
  const auto target_of = [&](size_t example) {
    return std::ranges::find(classes, labels[example]) - classes.begin();
  };
  std::vector<std::vector<size_t>> by_target(classes.size() + 1);  // the last: others
  for (size_t i = 0; i < labels.size(); ++i) {
    by_target[static_cast<size_t>(target_of(i))].push_back(i);
  }
  Stream stream;
  const auto add = [&](const std::vector<size_t>& some) {
    stream.examples.insert(stream.examples.end(), some.begin(), some.end());
  };
  for (size_t target = 0; target < classes.size(); ++target) {
    const std::vector<size_t>& all = by_target[target];
    add(per_class == 0 ? all : drawn(all, static_cast<size_t>(per_class), seed));
  }
  const auto wanted = static_cast<size_t>(
      std::llround(other / (1 - other) * static_cast<double>(stream.examples.size())));
  add(drawn(by_target.back(), wanted, seed));
  std::ranges::sort(stream.examples);
  for (size_t example : stream.examples) stream.targets.push_back(target_of(example));
  return stream;
}

Result<std::vector<Answer>> answers_of(Device& device, const Graph& network,
                                       const Batches& batches) {
  std::vector<Answer> answers;
  if (batches.per_epoch() == 0) return answers;
  const bool softmax = train::scores_of(network) != network.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, 1, 2);
  std::vector<Tensor> outputs(1);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    const auto classes = static_cast<size_t>(outputs[0].shape()[1]);
    for (size_t row = 0; row < batch.fresh; ++row) {
      const auto scores = outputs[0].data<float>().subspan(row * classes, classes);
      const int64_t best = fit::best_class(scores);
      const auto place = static_cast<size_t>(best);
      answers.push_back({best, softmax ? double{scores[place]} : fit::softmax(scores)[place]});
    }
  }
  return answers;
}

exits::Verdicts cascade_of(std::span<const Answer> special, std::span<const int64_t> targets,
                           int64_t other, std::span<const int64_t> general,
                           std::span<const int64_t> labels) {
  exits::Verdicts verdicts{.exits = std::vector<std::vector<exits::Verdict>>(2)};
  for (size_t i = 0; i < special.size(); ++i) {
    const bool answers = special[i].best != other;
    verdicts.exits[0].push_back({.probability = answers ? special[i].probability : kNoAnswer,
                                 .correct = answers && special[i].best == targets[i]});
    verdicts.exits[1].push_back({.probability = 1, .correct = general[i] == labels[i]});
  }
  return verdicts;
}

// No threshold accepts an answer that is none.
double threshold_for(const exits::Verdicts& cascade, double max_drop,
                     std::span<const int64_t> macs) {
  return std::max(exits::thresholds_for_drop(cascade, max_drop, macs)[0], kLeastThreshold);
}

}  // namespace shoal::catalog
