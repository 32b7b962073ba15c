// Recognises d / sqrt(mean(d * d) + epsilon) * scale + bias, where d = x - mean(x) over the last
// axes, as LayerNormalization. Scale and bias are optional.
#include <unordered_map>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/fusion/product.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

struct LayerNorm {
  ValueId x;
  size_t axis;  // the first averaged axis
  float epsilon;
  std::optional<Tensor> scale, bias;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const UseDefs& links) : graph_(graph), links_(links) {}

  // Matches at the division, without scale and bias.
  std::optional<LayerNorm> match(const Node& division) const {
    const std::optional<Ratio> ratio = ratio_of(division);
    if (!ratio) return std::nullopt;
    const Node* sum = links_.only_for_reader(ratio->square, ops::add);
    const auto parts = sum == nullptr ? std::nullopt : with_scalar(graph_, *sum);
    const Node* variance = parts ? links_.only_for_reader(parts->other, ops::reduce_mean) : nullptr;
    const Node* difference = links_.producer(ratio->above, ops::sub);
    if (variance == nullptr || difference == nullptr) return std::nullopt;
    const ValueId d = difference->outputs[0], x = difference->inputs[0];
    if (!product(graph_, links_, variance->inputs[0]).is(1, {d, d})) return std::nullopt;
    const Node* mean = links_.producer(difference->inputs[1], ops::reduce_mean);
    if (mean == nullptr || mean->inputs[0] != x) return std::nullopt;
    const std::optional<size_t> axis = first_averaged(*mean);
    if (!axis || axis != first_averaged(*variance)) return std::nullopt;
    return LayerNorm{x, *axis, static_cast<float>(parts->scalar), {}, {}};
  }

  // The constant that `op` applies to the value next, if it has the shape of the averaged axes;
  // `value` then becomes the result.
  std::optional<Tensor> parameter(const Operator& op, const LayerNorm& norm, ValueId& value) const {
    const Node* node = links_.only_reader(value);
    if (node == nullptr || node->op != &op) return std::nullopt;
    const Tensor* tensor = constant(graph_, node->inputs[node->inputs[0] == value ? 1 : 0]);
    if (tensor == nullptr) return std::nullopt;
    const Shape& shape = graph_[norm.x].type.shape;
    const auto row = std::span(shape).subspan(norm.axis);
    Shape whole = Shape::filled(shape.rank(), 1);
    if (tensor->shape().rank() > whole.rank()) return std::nullopt;
    std::ranges::copy_backward(tensor->shape(), whole.end());
    for (size_t d = 0; d < whole.rank(); ++d) {
      if (whole[d] != (d < norm.axis ? 1 : shape[d])) return std::nullopt;
    }
    value = node->outputs[0];
    return tensor->reshaped(Shape(row));
  }

 private:
  struct Ratio {
    ValueId above;
    ValueId square;  // the argument of the root
  };

  // a / sqrt(b), or a * (1 / sqrt(b))
  std::optional<Ratio> ratio_of(const Node& node) const {
    if (node.op == &ops::div) {
      const Node* root = links_.only_for_reader(node.inputs[1], ops::sqrt);
      return root == nullptr ? std::nullopt : std::optional(Ratio{node.inputs[0], root->inputs[0]});
    }
    if (node.op != &ops::mul) return std::nullopt;
    for (size_t i = 0; i < 2; ++i) {
      const Node* inverse = links_.only_for_reader(node.inputs[i], ops::reciprocal);
      const Node* root =
          inverse == nullptr ? nullptr : links_.only_for_reader(inverse->inputs[0], ops::sqrt);
      if (root != nullptr) return Ratio{node.inputs[1 - i], root->inputs[0]};
    }
    return std::nullopt;
  }

  // The first averaged axis, if all axes from it on are averaged. It follows from the shapes alone:
  // averaging an axis of size 1 changes nothing.
  std::optional<size_t> first_averaged(const Node& mean) const {
    const Shape &from = graph_[mean.inputs[0]].type.shape, &to = graph_[mean.outputs[0]].type.shape;
    if (from.rank() != to.rank()) return std::nullopt;
    size_t axis = 0;
    while (axis < from.rank() && from[axis] == to[axis]) ++axis;
    for (size_t d = axis; d < to.rank(); ++d) {
      if (to[d] != 1) return std::nullopt;
    }
    return axis < from.rank() ? std::optional(axis) : std::nullopt;
  }

  const Graph& graph_;
  const UseDefs& links_;
};

Tensor ones(const TensorType& type) {
  Tensor tensor(type);
  visit<Floats>(type.dtype, [&]<class T>() { std::ranges::fill(tensor.data<T>(), T{1.0f}); });
  return tensor;
}

bool put(Rewriter& rewriter, const Node& node, const LayerNorm& norm) {
  const TensorType& type = rewriter.from()[norm.x].type;
  const Shape row(std::span(type.shape).subspan(norm.axis));
  std::vector<ValueId> inputs{rewriter.map(norm.x)};
  inputs.push_back(
      rewriter.add_constant(node, "scale", norm.scale ? *norm.scale : ones({type.dtype, row})));
  if (norm.bias) inputs.push_back(rewriter.add_constant(node, "bias", *norm.bias));
  const auto axis = static_cast<int64_t>(norm.axis) - static_cast<int64_t>(type.shape.rank());
  return rewriter.substitute(node, ops::layer_normalization, std::move(inputs),
                             {{"axis", axis}, {"epsilon", norm.epsilon}});
}

}  // namespace

Result<Graph> recognise_layer_norm(const Graph& graph) {
  const UseDefs links(graph);
  const Matcher matcher(graph, links);
  std::unordered_map<ValueId, LayerNorm> norms;  // by their result
  for (const Node& node : graph.nodes()) {
    std::optional<LayerNorm> norm = matcher.match(node);
    if (!norm) continue;
    ValueId result = node.outputs[0];
    norm->scale = matcher.parameter(ops::mul, *norm, result);
    norm->bias = matcher.parameter(ops::add, *norm, result);
    norms.emplace(result, *std::move(norm));
  }
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    const auto norm = norms.find(node.outputs[0]);
    return norm != norms.end() && put(rewriter, node, norm->second);
  });
}

}  // namespace shoal::passes
