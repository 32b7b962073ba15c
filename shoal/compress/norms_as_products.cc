#include "shoal/compress/norms_as_products.h"

#include <array>
#include <cmath>

#include "shoal/ops/ops.h"
#include "shoal/passes/rewriter.h"
#include "shoal/passes/use_defs.h"

namespace shoal::compress {
namespace {

// Scale, bias, mean and variance, as f32.
std::optional<std::array<const Tensor*, 4>> constants_of(const Graph& graph, const Node& norm) {
  std::array<const Tensor*, 4> all{};
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = passes::constant(graph, norm.inputs[i + 1]);
    if (all[i] == nullptr || all[i]->dtype() != DType::kF32) return std::nullopt;
  }
  return all;
}

bool replace(const Graph& graph, passes::Rewriter& rewriter, const Node& node) {
  if (node.op != &ops::batch_normalization || node.integer("training_mode", 0) != 0) return false;
  const TensorType& type = graph[node.inputs[0]].type;
  const auto constants = constants_of(graph, node);
  if (!constants || type.dtype != DType::kF32 || type.shape.rank() != 4) return false;
  const int64_t channels = type.shape[1];
  const double epsilon = node.real("epsilon", 1e-5f);
  Tensor weights({DType::kF32, {channels, 1, 1, 1}}), bias({DType::kF32, {channels}});
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const auto at = [&](size_t i) {
      return static_cast<double>((*constants)[i]->data<float>()[c]);
    };
    const double scale = at(0) / std::sqrt(at(3) + epsilon);
    weights.data<float>()[c] = static_cast<float>(scale);
    bias.data<float>()[c] = static_cast<float>(at(1) - at(2) * scale);
  }
  const ValueId w = rewriter.add_constant(node, "weight", std::move(weights));
  const ValueId b = rewriter.add_constant(node, "bias", std::move(bias));
  return rewriter.substitute(node, ops::conv, {rewriter.map(node.inputs[0]), w, b},
                             {{"group", channels}});
}

}  // namespace

Result<Graph> norms_as_products(const Graph& graph) {
  return passes::rewrite(graph, [&](passes::Rewriter& rewriter, const Node& node) {
    return replace(graph, rewriter, node);
  });
}

}  // namespace shoal::compress
