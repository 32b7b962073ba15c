// Gradients of pools. Windowed averages and maxima have separate operators (pool_backward.cc); the
// others are formulas.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// The number of elements under each window, [1, 1, spatial...].
Tensor elements_under(const Window& window) {
  Tensor counts({DType::kF64, window.output_shape(1, 1)});
  const auto& [depth, row, column] = window.axes;
  double* next = counts.data<double>().data();
  for (int64_t d = 0; d < depth.output; ++d) {
    for (int64_t h = 0; h < row.output; ++h) {
      for (int64_t w = 0; w < column.output; ++w) {
        *next++ = static_cast<double>(depth.taps(d).count() * row.taps(h).count() *
                                      column.taps(w).count());
      }
    }
  }
  return counts;
}

}  // namespace

Gradients average_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  Attributes attributes = node.attributes;
  attributes["image"] = std::vector<int64_t>(x.begin() + 2, x.end());
  return chain.finish({chain.add(average_pool_backward, {outputs[0]}, std::move(attributes))});
}

// LpPool as a formula: y^p is the average of |x|^p times the number of elements under each window.
Gradients lp_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  return gradient_of_formula(node, outputs, graph, [&](Chain& chain) {
    const ValueId x = node.inputs[0];
    const auto p = static_cast<double>(node.integer("p", 2));
    Attributes attributes = node.attributes;
    attributes.erase("p");
    const Window window = window_of(node, chain.shape_of(x));
    const ValueId count = chain.cast(chain.constant(elements_under(window)));
    const ValueId powers = chain.add(pow, {chain.add(abs, {x}), chain.scalar(p)});
    const ValueId sums =
        chain.add(mul, {chain.add(average_pool, {powers}, std::move(attributes)), count});
    // Where the sum is 0, the derivative of its root is infinite. Such windows get 0.
    const ValueId some = chain.add(greater, {sums, chain.scalar(0)});
    const ValueId safe = chain.add(where, {some, sums, chain.scalar(1)});
    return std::vector{chain.only_where(some, chain.add(pow, {safe, chain.scalar(1 / p)}))};
  });
}

Gradients max_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return chain.finish(
      {chain.add(max_pool_backward, {node.inputs[0], outputs[0]}, node.attributes)});
}

Gradients global_average_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                       Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  const ValueId count = chain.scalar(static_cast<double>(x.count(2, x.rank())));
  return chain.finish({chain.stretch_to(chain.add(div, {outputs[0], count}), x)});
}

// y = (sum |x|^p)^(1/p): dx = dy sign(x) (|x| / y)^(p-1), and 0 where all of x is zero.
Gradients global_lp_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                  Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId x = node.inputs[0], zero = chain.scalar(0);
  const ValueId some = chain.add(greater, {node.outputs[0], zero});
  const ValueId y = chain.add(where, {some, node.outputs[0], chain.scalar(1)});
  const ValueId share =
      chain.add(pow, {chain.add(div, {chain.add(abs, {x}), y}),
                      chain.scalar(static_cast<double>(node.integer("p", 2) - 1))});
  const ValueId slope = chain.add(mul, {chain.add(sign, {x}), share});
  return chain.finish({chain.add(mul, {slope, outputs[0]})});
}

// dy goes to the largest element; elements that tie share it equally.
Gradients global_max_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                   Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId y = node.outputs[0];
  const ValueId chosen = chain.cast(chain.add(equal, {node.inputs[0], y}));
  const ValueId ties = chain.sum_to(chosen, chain.shape_of(y));
  return chain.finish({chain.add(mul, {chosen, chain.add(div, {outputs[0], ties})})});
}

}  // namespace shoal::ops
