// Gradient of Resize: along each axis Resize is a matrix W of weights, y = W x, so dx = W^T dy. The
// matrix depends on the sizes only and is a constant of the graph.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/image/resize_axis.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

// W^T, [in, out]: the weight of each input in each output.
Tensor transposed_matrix(const ResizeTaps& taps, int64_t in) {
  const auto out = taps.first.size();
  Tensor matrix({DType::kF64, {in, static_cast<int64_t>(out)}});
  for (size_t k = 0; k < out; ++k) {
    for (size_t t = taps.offsets[k]; t < taps.offsets[k + 1]; ++t) {
      const size_t row = static_cast<size_t>(taps.first[k]) + t - taps.offsets[k];
      matrix.data<double>()[row * out + k] = taps.weights[t];
    }
  }
  return matrix;
}

}  // namespace

Result<std::vector<ValueId>> resize_gradient(const Node& node, std::span<const ValueId> outputs,
                                             Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const DType dtype = graph[node.inputs[0]].type.dtype;
  SHOAL_ASSIGN(const ResizeRule rule, resize_rule(node));
  SHOAL_ASSIGN(const std::vector<ResizeAxis> axes,
               resize_axes(node, rule, graph.operands(node.inputs)));
  ValueId dx = outputs[0];
  for (size_t d = 0; d < axes.size(); ++d) {
    if (axes[d].is_identity(rule)) continue;
    Shape shape = chain.shape_of(dx);
    const Tensor matrix =
        transposed_matrix(resize_taps(rule, axes[d]), axes[d].in_end - axes[d].in_begin);
    const ValueId lines =
        chain.reshape(dx, {shape.count(0, d), shape[d], shape.count(d + 1, shape.rank())});
    shape[d] = matrix.shape()[0];
    dx =
        chain.reshape(chain.add(mat_mul, {chain.constant(converted(matrix, dtype)), lines}), shape);
  }
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = dx;
  return chain.finish(std::move(gradients));
}

}  // namespace shoal::ops
