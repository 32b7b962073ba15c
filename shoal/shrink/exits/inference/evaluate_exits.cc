#include "shoal/shrink/exits/inference/evaluate_exits.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "shoal/engine/run/scores.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/data/prefetch.h"

namespace shoal::exits {
namespace {

constexpr size_t kUsualBatch = 64;
constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

}  // namespace

Result<ExitsEvaluation> evaluate(const Runner& runner, std::span<const double> thresholds,
                                 const Dataset& data, const fit::EvaluationOptions& options) {
  const size_t stages = runner.stage_macs().size();
  const size_t count = options.examples_of(data);
  std::vector<size_t> answered(stages, 0), correct(stages, 0);
  ExitsEvaluation result;
  const Shape& shape = runner.input_type().shape;
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  const Batches batches(
      data, [&](const Tensor& image) { return image_for_input(image, dims, options.preprocess); },
      {.batch = options.batch > 0 ? options.batch : std::clamp<size_t>(count, 1, kUsualBatch)});
  std::optional<Prefetch> prefetch;
  if (count > 0) prefetch.emplace(batches, 0, 0, kLoaders, kAhead);
  while (result.answers.images() < count) {
    if (options.cancel != nullptr && options.cancel->load()) break;
    SHOAL_ASSIGN(const Batch batch, prefetch->next());
    SHOAL_ASSIGN(const std::vector<Answer> answers, runner.run(batch.images, thresholds));
    for (size_t i = 0; i < batch.fresh && result.answers.images() < count; ++i) {
      const Answer& answer = answers[i];
      const int64_t label = batch.labels.data<int64_t>()[i];
      const bool probabilities = answer.exit + 1 == stages && fit::are_probabilities(answer.scores);
      result.answers.add(answer.scores, probabilities, label, batch.examples[i]);
      ++answered[answer.exit];
      correct[answer.exit] += fit::rank_of(answer.scores, label) == 0 ? 1 : 0;
    }
    if (options.progress) options.progress(result.answers.images(), count);
  }
  result.figures = figures_of(answered, correct, runner.stage_macs());
  return result;
}

}  // namespace shoal::exits
