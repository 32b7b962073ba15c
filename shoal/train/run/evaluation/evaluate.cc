// A session on a data set, and a graph on batches. Both use batches of one size, the last one
// padded with earlier examples, so that one compiled form suffices.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "shoal/engine/run/scores.h"
#include "shoal/model/passes/passes.h"
#include "shoal/train/data/batches.h"
#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::fit {
namespace {

constexpr size_t kUsualBatch = 16;  // for models that take any batch
constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

class FirstExamples : public Dataset {
 public:
  FirstExamples(const Dataset& all, size_t count) : all_(all), count_(count) {}
  size_t size() const override { return count_; }
  Result<Example> at(size_t index) const override { return all_.at(index); }
  std::string place(size_t index) const override { return all_.place(index); }

 private:
  const Dataset& all_;
  size_t count_;
};

// Optional inputs come last in the list, so that the first one is the one that is needed.
Result<TensorInfo> only_input(const Session& session) {
  if (std::ranges::count(session.inputs(), false, &TensorInfo::optional) != 1) {
    return invalid("evaluation needs a model with one input");
  }
  return session.inputs()[0];
}

size_t batch_for(const TensorInfo& input, size_t wanted, size_t examples) {
  if (wanted > 0) return wanted;
  const int64_t declared = input.sizes().empty() ? -1 : input.sizes()[0];
  return declared > 0 ? static_cast<size_t>(declared) : std::min(kUsualBatch, examples);
}

}  // namespace

Status add_answers(const Batch& batch, const Tensor& scores, std::optional<bool> probabilities,
                   Evaluation& result) {
  const auto images = static_cast<size_t>(batch.labels.count());
  const auto count = static_cast<size_t>(scores.count());
  if (scores.dtype() != DType::kF32 || count == 0 || count % images != 0) {
    return invalid("the output is " + to_string(scores.type()) + ", which is no scores for " +
                   std::to_string(images) + " images");
  }
  // Rows after `fresh` repeat examples that were counted before.
  const size_t classes = count / images;
  for (size_t i = 0; i < batch.fresh; ++i) {
    const auto row = scores.data<float>().subspan(i * classes, classes);
    result.add(row, probabilities.value_or(are_probabilities(row)), batch.labels.data<int64_t>()[i],
               batch.examples[i]);
  }
  return {};
}

Result<Evaluation> evaluate(Session& session, const Dataset& data,
                            const EvaluationOptions& options) {
  SHOAL_ASSIGN(const TensorInfo input, only_input(session));
  const FirstExamples examples(data, options.examples_of(data));
  Evaluation result;
  if (examples.size() == 0) return result;
  const Batches batches(examples,
                        [&](const Tensor& image) {
                          return image_for_input(image, input.sizes(), options.preprocess);
                        },
                        {.batch = batch_for(input, options.batch, examples.size())});
  Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    if (options.cancel != nullptr && options.cancel->load()) break;
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_ASSIGN(const auto outputs, session.run({{input.name, batch.images}}));
    SHOAL_TRY(add_answers(batch, outputs.at(session.outputs()[0]), std::nullopt, result));
    if (options.progress) options.progress(result.images(), examples.size());
  }
  return result;
}

std::function<Result<double>(Session&)> share_right_of(const Dataset& data,
                                                       EvaluationOptions options) {
  return [&data, options = std::move(options)](Session& session) -> Result<double> {
    SHOAL_ASSIGN(const Evaluation answers, evaluate(session, data, options));
    return answers.top1() / 100;
  };
}

Result<Evaluation> evaluate(Device& device, const Graph& network, const Batches& batches) {
  Evaluation result;
  if (batches.per_epoch() == 0) return result;
  // The graph tells whether the scores are probabilities; rows need not be guessed at.
  const bool ends_with_softmax = train::scores_of(network) != network.outputs()[0];
  SHOAL_ASSIGN(const Graph optimized, passes::optimize(network));
  SHOAL_ASSIGN(const auto executable, device.compile(optimized));
  Prefetch prefetch(batches, 0, 0, kLoaders, kAhead);
  std::vector<Tensor> outputs(optimized.outputs().size());
  for (size_t i = 0; i < batches.per_epoch(); ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(executable->run(std::span(&batch.images, 1), outputs, {}));
    SHOAL_TRY(add_answers(batch, outputs[0], ends_with_softmax, result));
  }
  return result;
}

}  // namespace shoal::fit
