// Gradients of normalizations that are short formulas of other operators, by gradient_of_formula().
#include <algorithm>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

// x, or 1 where it is 0, so that quotients and roots of it have a finite gradient.
ValueId not_zero(Chain& chain, ValueId x) {
  const ValueId is_zero = chain.add(equal, {x, chain.scalar(0)});
  return chain.add(where, {is_zero, chain.scalar(1), x});
}

}  // namespace

// The sum of squares over neighbouring channels is an average pool along the channels that counts
// padding, times its window.
Gradients lrn_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  return gradient_of_formula(node, outputs, graph, [&](Chain& chain) {
    const ValueId x = node.inputs[0];
    const Shape shape = chain.shape_of(x);
    const int64_t size = node.integer("size", 1);
    // Clamped to the number of channels: the attribute comes from a file and may be anything.
    const int64_t below = std::min((size - 1) / 2, shape[1]), above = std::min(size / 2, shape[1]);
    const int64_t window = below + 1 + above;
    const ValueId squares = chain.reshape(chain.add(mul, {x, x}),
                                          {shape[0], 1, shape[1], shape.count(2, shape.rank())});
    const ValueId averages = chain.add(average_pool, {squares},
                                       {{"kernel_shape", std::vector<int64_t>{window, 1}},
                                        {"pads", std::vector<int64_t>{below, 0, above, 0}},
                                        {"count_include_pad", int64_t{1}}});
    const double alpha =
        double{node.real("alpha", 1e-4f)} * static_cast<double>(window) / static_cast<double>(size);
    const ValueId sums = chain.add(mul, {chain.reshape(averages, shape), chain.scalar(alpha)});
    const ValueId base = chain.add(add, {sums, chain.scalar(double{node.real("bias", 1)})});
    const ValueId power = chain.scalar(double{node.real("beta", 0.75f)});
    return std::vector{chain.add(div, {x, chain.add(pow, {base, power})})};
  });
}

Gradients lp_normalization_gradient(const Node& node, std::span<const ValueId> outputs,
                                    Graph& graph) {
  return gradient_of_formula(node, outputs, graph, [&](Chain& chain) {
    const ValueId x = node.inputs[0];
    const Attributes along{{"axes", std::vector<int64_t>{node.integer("axis", -1)}}};
    const bool is_sum = node.integer("p", 2) == 1;
    const ValueId size =
        not_zero(chain, chain.add(is_sum ? reduce_l1 : reduce_sum_square, {x}, along));
    return std::vector{chain.add(div, {x, is_sum ? size : chain.add(sqrt, {size})})};
  });
}

Gradients mean_variance_normalization_gradient(const Node& node, std::span<const ValueId> outputs,
                                               Graph& graph) {
  return gradient_of_formula(node, outputs, graph, [&](Chain& chain) {
    const ValueId x = node.inputs[0];
    const Attributes along{{"axes", node.integers("axes", {0, 2, 3})}};
    const ValueId centred = chain.add(sub, {x, chain.add(reduce_mean, {x}, along)});
    const ValueId variance =
        not_zero(chain, chain.add(reduce_mean, {chain.add(mul, {centred, centred})}, along));
    const ValueId divisor = chain.add(add, {chain.add(sqrt, {variance}), chain.scalar(1e-9)});
    return std::vector{chain.add(div, {centred, divisor})};
  });
}

}  // namespace shoal::ops
