// Gradients of Softmax, LogSoftmax, and the losses built on them. For a cross-entropy they combine
// to the well-known dx = (softmax(x) - onehot(target)) * weight.
#include <algorithm>
#include <numeric>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

int64_t axis_of(const Node& node, const Shape& shape) {
  return static_cast<int64_t>(axis_in(node.integer("axis", -1), shape.rank()));
}

// Through LogSoftmax along an axis: dx = dy - softmax(x) * sum(dy).
ValueId through_log_softmax(Chain& chain, ValueId x, ValueId dy, int64_t axis) {
  const ValueId likely = chain.add(softmax, {x}, {{"axis", axis}});
  const ValueId total = chain.reduce_sum(dy, std::vector{axis});
  return chain.add(sub, {dy, chain.add(mul, {likely, total})});
}

// The weight of each score in the loss, [n, classes, d1, ...]: the weight of the class at the
// target, 0 elsewhere. A target outside the classes, such as a negative ignore_index, matches none
// and weighs 0.
ValueId target_weights(Chain& chain, const Node& node, const Graph& graph) {
  const Shape scores = chain.shape_of(node.inputs[0]);
  const int64_t classes = scores[1];
  Shape targets = scores, per_class = Shape::filled(scores.rank() - 1, 1);
  targets[1] = 1;
  per_class[0] = classes;
  Tensor numbers({DType::kI64, per_class}), counts({DType::kF64, per_class});
  std::iota(numbers.data<int64_t>().begin(), numbers.data<int64_t>().end(), 0);
  std::ranges::fill(counts.data<double>(), 1);
  if (const int64_t ignored = node.integer("ignore_index", -1); ignored >= 0 && ignored < classes) {
    counts.data<double>()[static_cast<size_t>(ignored)] = 0;
  }
  const ValueId number = chain.constant(converted(numbers, graph[node.inputs[1]].type.dtype));
  const ValueId hit = chain.add(equal, {chain.reshape(node.inputs[1], targets), number});
  const DType dtype = graph[node.inputs[0]].type.dtype;
  ValueId weights = chain.constant(converted(counts, dtype));
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    weights = chain.add(mul, {weights, chain.reshape(node.inputs[2], per_class)});
  }
  return chain.add(mul, {chain.cast(hit), weights});
}

// The gradient for the log-likelihoods: -dy weight at the target. A mean divides by the sum of
// weights, as the loss does.
ValueId loss_gradient(Chain& chain, const Node& node, ValueId dy, const Graph& graph) {
  const std::string reduction = node.text("reduction", "mean");
  const ValueId weights = target_weights(chain, node, graph);
  ValueId each = chain.add(neg, {dy});
  if (reduction == "none") {
    Shape per_sample = chain.shape_of(node.inputs[0]);
    per_sample[1] = 1;
    each = chain.reshape(each, per_sample);
  } else if (reduction == "mean") {
    each = chain.add(div, {each, chain.sum_to(weights, {})});
  }
  return chain.add(mul, {weights, each});
}

Gradients only_scores(const Chain& chain, const Node& node, ValueId dx) {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = dx;
  return chain.finish(std::move(gradients));
}

}  // namespace

// dx = y * (dy - sum(dy * y))
Gradients softmax_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId y = node.outputs[0];
  const std::vector<int64_t> axis{axis_of(node, chain.shape_of(y))};
  const ValueId total = chain.reduce_sum(chain.add(mul, {outputs[0], y}), axis);
  return chain.finish({chain.add(mul, {y, chain.add(sub, {outputs[0], total})})});
}

Gradients log_softmax_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const int64_t axis = axis_of(node, chain.shape_of(node.inputs[0]));
  return chain.finish({through_log_softmax(chain, node.inputs[0], outputs[0], axis)});
}

Gradients negative_log_likelihood_loss_gradient(const Node& node, std::span<const ValueId> outputs,
                                                Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return only_scores(chain, node, loss_gradient(chain, node, outputs[0], graph));
}

Gradients softmax_cross_entropy_loss_gradient(const Node& node, std::span<const ValueId> outputs,
                                              Graph& graph) {
  if (outputs.size() > 1 && outputs[1] != kNoValue) {
    return Status(Code::kUnsupported,
                  "SoftmaxCrossEntropyLoss has no gradient through output 1, the likelihoods");
  }
  Chain chain(graph, node.inputs[0]);
  const ValueId dlog = loss_gradient(chain, node, outputs[0], graph);
  return only_scores(chain, node, through_log_softmax(chain, node.inputs[0], dlog, 1));
}

}  // namespace shoal::ops
