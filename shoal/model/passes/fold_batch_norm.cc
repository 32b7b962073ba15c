// Folds nodes that scale and shift the channels of a product with constant weights into the
// weights: BatchNormalization in inference, Conv of one weight per channel, and Mul, Div, Add and
// Sub with a constant per channel.
//
//   s * (w x + b) + t = (s w) x + (s b + t)
//
// For BatchNormalization s = scale / sqrt(variance + epsilon) and t = bias - mean * s. All of it is
// computed in double and rounded once. Weights that the element type then cannot hold, as f16 soon
// cannot, are not folded: what they are multiplied by may be small.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/norm/channel_scaling.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

using Channels = std::vector<double>;  // one number per channel

// y_c = scale_c x_c + shift_c
struct Affine {
  Channels scale, shift;

  explicit Affine(size_t channels) : scale(channels, 1), shift(channels, 0) {}
  explicit Affine(ops::ChannelScaling scaling)
      : scale(std::move(scaling.scale)), shift(std::move(scaling.shift)) {}

  // Composes: this, then `next`.
  void append(const Affine& next) {
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] *= next.scale[c];
      shift[c] = shift[c] * next.scale[c] + next.shift[c];
    }
  }
  bool scales() const {
    return std::ranges::any_of(scale, [](double s) { return s != 1; });
  }
  bool shifts() const {
    return std::ranges::any_of(shift, [](double s) { return s != 0; });
  }
  bool is_finite() const {
    auto finite = [](double x) { return std::isfinite(x); };
    return std::ranges::all_of(scale, finite) && std::ranges::all_of(shift, finite);
  }
};

// The elements of a constant that broadcasts to `shape` along all axes but one, one per channel.
std::optional<Channels> per_channel(const Tensor* tensor, const Shape& shape, size_t axis) {
  if (tensor == nullptr || tensor->shape().rank() > shape.rank()) return std::nullopt;
  const auto channels = static_cast<size_t>(shape[axis]);
  if (tensor->count() == 1) return Channels(channels, ops::doubles_of(*tensor)[0]);
  const size_t missing = shape.rank() - tensor->shape().rank();
  const bool has_axis = axis >= missing && tensor->shape()[axis - missing] == shape[axis];
  if (!has_axis || tensor->count() != shape[axis]) return std::nullopt;
  return ops::doubles_of(*tensor);
}

// The scale and shift that the node applies to its input `value`, whose channels are on `axis`.
std::optional<Affine> affine_of(const Graph& graph, const Node& node, ValueId value, size_t axis) {
  const TensorType& type = graph[value].type;
  const auto channels = static_cast<size_t>(type.shape[axis]);
  if (graph[node.outputs[0]].type != type) return std::nullopt;
  if (axis == 1 && node.inputs[0] == value) {
    auto scaling = ops::channel_scaling_of(node, graph.operands(node.inputs));
    if (scaling) return Affine(*std::move(scaling));
  }
  const bool is_add = node.op == &ops::add, is_mul = node.op == &ops::mul;
  if (!is_add && !is_mul && node.op != &ops::sub && node.op != &ops::div) return std::nullopt;
  // x - c and x / c are affine in x; c - x and c / x are not of this form.
  const bool is_left = node.inputs[0] == value;
  if (!is_left && !is_add && !is_mul) return std::nullopt;
  const auto other = per_channel(constant(graph, node.inputs[is_left ? 1 : 0]), type.shape, axis);
  if (!other) return std::nullopt;
  Affine affine(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double x = (*other)[c];
    if (is_mul) affine.scale[c] = x;
    if (is_add) affine.shift[c] = x;
    if (node.op == &ops::sub) affine.shift[c] = -x;
    if (node.op == &ops::div) affine.scale[c] = 1 / x;
  }
  return affine;
}

// The layout of a product's weights: [outer, channels, inner], once per group of channels.
struct Weights {
  int64_t groups, outer, channels, inner;
};

Weights weights_of(const Graph& graph, const Node& head) {
  const Shape& shape = graph[head.inputs[1]].type.shape;
  if (head.op == &ops::conv) return {1, 1, shape[0], shape.count(1, shape.rank())};
  if (head.op == &ops::conv_transpose) {
    const int64_t groups = head.integer("group", 1);
    return {groups, shape[0] / groups, shape[1], shape.count(2, shape.rank())};
  }
  const bool transposed = head.op == &ops::gemm && head.integer("transB", 0) != 0;
  return transposed ? Weights{1, 1, shape[0], shape[1]} : Weights{1, shape[0], shape[1], 1};
}

bool is_finite(const Tensor& tensor) {
  bool finite = true;
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    finite = std::ranges::all_of(tensor.data<T>(),
                                 [](T x) { return std::isfinite(static_cast<Compute<T>>(x)); });
  });
  return finite;
}

Tensor scaled(const Tensor& tensor, const Weights& weights, const Channels& scale) {
  Tensor result(tensor.type());
  visit<Floats>(tensor.dtype(), [&]<class T>() {
    const T* from = tensor.data<T>().data();
    T* to = result.data<T>().data();
    for (int64_t g = 0; g < weights.groups; ++g) {
      for (int64_t o = 0; o < weights.outer; ++o) {
        for (int64_t c = 0; c < weights.channels; ++c) {
          const double factor = scale[static_cast<size_t>(g * weights.channels + c)];
          for (int64_t i = 0; i < weights.inner; ++i, ++from, ++to) {
            *to = ops::convert<T>(factor * static_cast<Compute<T>>(*from));
          }
        }
      }
    }
  });
  return result;
}

class BatchNormFolder {
 public:
  explicit BatchNormFolder(const Graph& graph) : graph_(graph), links_(graph) {
    for (const Node& node : graph.nodes()) plan(node);
  }

  bool fold(Rewriter& rewriter, const Node& node) const {
    const auto it = folds_.find(&node);
    if (it == folds_.end()) return false;
    const auto& [head, axis, affine] = it->second;
    const bool has_bias = head->inputs.size() > 2 && head->inputs[2] != kNoValue;
    const Tensor& old = *graph_[head->inputs[1]].constant;
    Tensor weights, bias;
    if (affine.scales()) weights = scaled(old, weights_of(graph_, *head), affine.scale);
    if (affine.shifts() || has_bias) bias = bias_of(*head, axis, affine);
    if ((weights.defined() && !is_finite(weights)) || (bias.defined() && !is_finite(bias))) {
      return false;
    }
    std::vector<ValueId> inputs = rewriter.map(head->inputs);
    Attributes attributes = head->attributes;
    if (weights.defined()) {
      inputs[1] = rewriter.add_constant(node, "weights", std::move(weights));
      // The old weights are not read again. If they are part of a mapped file, their pages can go.
      old.release_pages();
    }
    if (bias.defined()) {
      inputs.resize(3, kNoValue);
      inputs[2] = rewriter.add_constant(node, "bias", std::move(bias));
      attributes.erase("beta");
    }
    const bool becomes_gemm = head->op == &ops::mat_mul && inputs.size() > 2;
    return rewriter.substitute(node, becomes_gemm ? ops::gemm : *head->op, std::move(inputs),
                               std::move(attributes));
  }

 private:
  struct Fold {
    const Node* head;
    size_t axis;
    Affine affine;
  };

  // Follows the chain of readers behind a product as long as each can be folded.
  void plan(const Node& head) {
    const std::optional<size_t> axis = channel_axis(head);
    if (!axis) return;
    const TensorType& type = graph_[head.outputs[0]].type;
    Affine all(static_cast<size_t>(type.shape[*axis]));
    const Node* last = &head;
    while (const Node* next = links_.only_reader(last->outputs[0])) {
      const auto affine = affine_of(graph_, *next, last->outputs[0], *axis);
      // 1 / 0 or a variance of -epsilon give infinities, which would spoil weights of 0. Such nodes
      // stay.
      if (!affine || !affine->is_finite() || (affine->shifts() && !can_shift(head))) break;
      all.append(*affine);
      last = next;
    }
    if (last != &head && all.is_finite()) folds_.emplace(last, Fold{&head, *axis, std::move(all)});
  }

  // The axis of channels in the output of a product with constant weights; nullopt for other nodes.
  std::optional<size_t> channel_axis(const Node& node) const {
    const Operator* op = node.op;
    const bool is_conv = op == &ops::conv || op == &ops::conv_transpose;
    if (!is_conv && op != &ops::gemm && op != &ops::mat_mul) return std::nullopt;
    const TensorType& type = graph_[node.outputs[0]].type;
    const Tensor* weights = constant(graph_, node.inputs[1]);
    if (weights == nullptr || !Floats::contains(type.dtype)) return std::nullopt;
    if (op == &ops::mat_mul && (weights->shape().rank() != 2 || type.shape.rank() < 2)) {
      return std::nullopt;
    }
    const size_t axis = is_conv ? 1 : type.shape.rank() - 1;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue;
    if (has_bias && !per_channel(constant(graph_, node.inputs[2]), bias_shape(type, axis), 1)) {
      return std::nullopt;
    }
    return axis;
  }

  // The shape that a bias must broadcast to: one element per channel, the same for all rows.
  static Shape bias_shape(const TensorType& type, size_t axis) { return {1, type.shape[axis]}; }

  // Whether a shift can be folded. A MatMul of matrices becomes a Gemm for that; one of other ranks
  // has no bias.
  bool can_shift(const Node& head) const {
    return head.op != &ops::mat_mul || graph_[head.inputs[0]].type.shape.rank() == 2;
  }

  Tensor bias_of(const Node& head, size_t axis, const Affine& affine) const {
    const TensorType& type = graph_[head.outputs[0]].type;
    const Shape shape = bias_shape(type, axis);
    Channels bias = affine.shift;
    if (head.inputs.size() > 2 && head.inputs[2] != kNoValue) {
      const Channels old = *per_channel(constant(graph_, head.inputs[2]), shape, 1);
      const double beta = head.op == &ops::gemm ? head.real("beta", 1) : 1;
      for (size_t c = 0; c < bias.size(); ++c) bias[c] += beta * old[c] * affine.scale[c];
    }
    return ops::converted(Tensor::of<double>({shape[1]}, bias), type.dtype);
  }

  const Graph& graph_;
  UseDefs links_;
  std::unordered_map<const Node*, Fold> folds_;  // by the last node of the chain
};

}  // namespace

Result<Graph> fold_batch_norm(const Graph& graph) {
  const BatchNormFolder folder(graph);
  return rewrite(graph,
                 [&](Rewriter& rewriter, const Node& node) { return folder.fold(rewriter, node); });
}

}  // namespace shoal::passes
