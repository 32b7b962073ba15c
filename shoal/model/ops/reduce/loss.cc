// Losses of classifiers. With t the target class of a sample,
//   NegativeLogLikelihoodLoss: loss = -weight[t] * x[t]
//   SoftmaxCrossEntropyLoss:   the same of LogSoftmax(x), which is output 1
// Reduction "mean" divides the sum of losses by the sum of weights, not by the number of samples.
// Gradients are in gradient_softmax.cc.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// x: [n, classes, d1, ...], target: [n, d1, ...].
Result<std::vector<TensorType>> infer_loss(const Node& node, std::span<const Operand> inputs) {
  const Shape& x = inputs[0].type.shape;
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require<Indices>(inputs[1]));
  if (x.rank() < 2) return invalid("scores have no classes");
  Shape samples{x[0]};
  for (size_t d = 2; d < x.rank(); ++d) samples.push_back(x[d]);
  if (inputs[1].type.shape != samples) {
    return invalid("the target has shape " + to_string(inputs[1].type.shape) + ", should have " +
                   to_string(samples));
  }
  if (inputs.size() > 2 && inputs[2].given &&
      inputs[2].type != TensorType{inputs[0].type.dtype, {x[1]}}) {
    return invalid("weights are not one per class, of the type of the scores");
  }
  const std::string reduction = node.text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    return invalid("reduction is " + reduction + ", should be none, sum or mean");
  }
  std::vector<TensorType> types{{inputs[0].type.dtype, reduction == "none" ? samples : Shape{}}};
  if (node.outputs.size() > 1) types.push_back(inputs[0].type);
  return types;
}

// A sample that does not count has weight 0: its target is ignore_index or not a class. Targets are
// data, so any integer may occur.
struct Sample {
  double loss = 0;
  double weight = 0;
};

template <class T>
std::vector<Sample> samples_of(const Node& node, const Tensor& scores, const Tensor& targets,
                               const Tensor* weights) {
  const Shape& shape = scores.shape();
  const int64_t classes = shape[1], inner = shape.count(2, shape.rank());
  std::optional<int64_t> ignored;
  if (node.has("ignore_index")) ignored = node.integer("ignore_index", 0);
  const std::vector<int64_t> classes_wanted = to_ints(targets);
  std::vector<Sample> samples(classes_wanted.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    const int64_t target = classes_wanted[i];
    if (target == ignored || target < 0 || target >= classes) continue;
    const int64_t image = static_cast<int64_t>(i) / inner, place = static_cast<int64_t>(i) % inner;
    const int64_t at = (image * classes + target) * inner + place;
    samples[i].weight =
        weights ? static_cast<double>(weights->data<T>()[static_cast<size_t>(target)]) : 1;
    const auto score = static_cast<double>(scores.data<T>()[static_cast<size_t>(at)]);
    samples[i].loss = -score * samples[i].weight;
  }
  return samples;
}

template <class T>
void reduce(std::span<const Sample> samples, const std::string& reduction, std::span<T> y) {
  const auto rounded = [](double x) { return static_cast<T>(static_cast<Compute<T>>(x)); };
  if (reduction == "none") {
    std::ranges::transform(samples, y.begin(), [&](const Sample& s) { return rounded(s.loss); });
    return;
  }
  Sample total;
  for (const Sample& s : samples) {
    total.loss += s.loss;
    total.weight += s.weight;
  }
  y[0] = rounded(reduction == "mean" ? total.loss / total.weight : total.loss);
}

void likelihood(const Node& node, const Tensor& scores, std::span<const Tensor> inputs,
                Tensor& output) {
  const Tensor* weights = inputs.size() > 2 && inputs[2].defined() ? &inputs[2] : nullptr;
  visit<Floats>(scores.dtype(), [&]<class T>() {
    reduce<T>(samples_of<T>(node, scores, inputs[1], weights), node.text("reduction", "mean"),
              output.data<T>());
  });
}

void reference_likelihood(const Node& node, std::span<const Tensor> inputs,
                          std::span<Tensor> outputs) {
  likelihood(node, inputs[0], inputs, outputs[0]);
}

void reference_entropy(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  Node along_classes;
  along_classes.attributes["axis"] = int64_t{1};
  std::vector<Tensor> logarithms{outputs.size() > 1 ? outputs[1] : Tensor(inputs[0].type())};
  log_softmax.reference(along_classes, inputs.first(1), logarithms);
  likelihood(node, logarithms[0], inputs, outputs[0]);
}

}  // namespace

SHOAL_RECORD(negative_log_likelihood_loss) = {.name = "NegativeLogLikelihoodLoss",
                                              .min_inputs = 2,
                                              .max_inputs = 3,
                                              .statistic_inputs = 0b100,
                                              .infer = infer_loss,
                                              .reference = reference_likelihood,
                                              .gradient = negative_log_likelihood_loss_gradient};

SHOAL_RECORD(softmax_cross_entropy_loss) = {.name = "SoftmaxCrossEntropyLoss",
                                            .min_inputs = 2,
                                            .max_inputs = 3,
                                            .max_outputs = 2,
                                            .statistic_inputs = 0b100,
                                            .infer = infer_loss,
                                            .reference = reference_entropy,
                                            .gradient = softmax_cross_entropy_loss_gradient};

}  // namespace shoal::ops
