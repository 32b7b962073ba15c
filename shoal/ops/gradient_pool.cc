// Of pools: an average gives every element under its window a share, a maximum gives all to one.
#include <algorithm>

#include "shoal/ops/chain.h"
#include "shoal/ops/conv.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/gradient.h"
#include "shoal/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// What one element counts in each average: 1 / elements, [1, 1, spatial...].
Tensor shares(const Window& window, bool count_padding) {
  Tensor share({DType::kF64, window.output_shape(1, 1)});
  const auto& [depth, row, column] = window.axes;
  const auto elements = [&](const WindowAxis& axis, int64_t o) {
    return static_cast<double>(count_padding ? axis.padded_taps(o) : axis.taps(o).count());
  };
  double* next = share.data<double>().data();
  for (int64_t d = 0; d < depth.output; ++d) {
    for (int64_t h = 0; h < row.output; ++h) {
      for (int64_t w = 0; w < column.output; ++w) {
        const double count = elements(depth, d) * elements(row, h) * elements(column, w);
        *next++ = count == 0 ? 0 : 1 / count;
      }
    }
  }
  return share;
}

Tensor ones(const Shape& shape) {
  Tensor tensor({DType::kF64, shape});
  std::ranges::fill(tensor.data<double>(), 1);
  return tensor;
}

}  // namespace

// Spreads dy over the windows: a ConvTranspose with a kernel of ones, every channel an image.
Gradients average_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const DType dtype = graph[node.inputs[0]].type.dtype;
  const Shape x = chain.shape_of(node.inputs[0]);
  const Window window = window_of(node, x);
  const bool count_padding = node.integer("count_include_pad", 0) != 0;
  const ValueId share = chain.constant(converted(shares(window, count_padding), dtype));
  Shape kernel{1, 1};
  for (const WindowAxis& axis : window.spatial()) kernel.push_back(axis.kernel);
  const ValueId planes =
      chain.reshape(chain.add(mul, {outputs[0], share}), window.output_shape(x[0] * x[1], 1));
  const ValueId spread =
      chain.add(conv_transpose, {planes, chain.constant(converted(ones(kernel), dtype))},
                backwards_attributes(window, 1));
  return chain.finish({chain.reshape(spread, x)});
}

// The pool runs once more, to say which elements it took.
Gradients max_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  const Shape all{chain.shape_of(outputs[0]).count()};
  Attributes by_rows = node.attributes;
  by_rows["storage_order"] = int64_t{0};
  const ValueId taken = chain.add_all(max_pool, {node.inputs[0]}, std::move(by_rows), 2)[1];
  const ValueId total = chain.add(
      scatter_elements,
      {chain.zeros({x.count()}), chain.reshape(taken, all), chain.reshape(outputs[0], all)},
      {{"reduction", std::string("add")}});
  return chain.finish({chain.reshape(total, x)});
}

Gradients global_average_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                       Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  const ValueId count = chain.scalar(static_cast<double>(x.count(2, x.rank())));
  return chain.finish({chain.stretch_to(chain.add(div, {outputs[0], count}), x)});
}

Gradients global_max_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                   Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId y = node.outputs[0];
  const ValueId chosen = chain.cast(chain.add(equal, {node.inputs[0], y}));
  const ValueId ties = chain.sum_to(chosen, chain.shape_of(y));
  return chain.finish({chain.add(mul, {chosen, chain.add(div, {outputs[0], ties})})});
}

}  // namespace shoal::ops
