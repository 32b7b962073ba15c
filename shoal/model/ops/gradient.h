// Gradients of operators, in files by family: gradient_<family>.cc. The records point to them.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {

class Chain;

using Gradient = Result<std::vector<ValueId>>(const Node& node, std::span<const ValueId> outputs,
                                              Graph& graph);

constexpr Operator differentiable(Operator op, Gradient* gradient) {
  op.gradient = gradient;
  return op;
}

// gradient_unary.cc: mathematics and activations.
Gradient abs_gradient, acos_gradient, acosh_gradient, asin_gradient, asinh_gradient, atan_gradient,
    atanh_gradient, cos_gradient, cosh_gradient, erf_gradient, exp_gradient, identity_gradient,
    log_gradient, neg_gradient, reciprocal_gradient, sin_gradient, sinh_gradient, sqrt_gradient,
    tan_gradient, tanh_gradient;
Gradient celu_gradient, elu_gradient, hard_sigmoid_gradient, hard_swish_gradient,
    leaky_relu_gradient, relu_gradient, selu_gradient, shrink_gradient, sigmoid_gradient,
    softplus_gradient, softsign_gradient, thresholded_relu_gradient;
Gradient step_gradient;  // zero wherever it is defined: Floor, Sign

// gradient_nary.cc
Gradient add_gradient, clip_gradient, div_gradient, dropout_gradient, extremum_gradient,
    mean_gradient, mul_gradient, pow_gradient, prelu_gradient, sub_gradient, where_gradient;

// gradient_movement.cc: operators that only move elements.
Gradient cast_gradient, concat_gradient, expand_gradient, pad_gradient, reshape_gradient,
    slice_gradient, split_gradient, transpose_gradient, trilu_gradient;
Gradient permutation_gradient;  // for one input whose elements move by its type alone
Gradient gather_gradient, gather_elements_gradient, gather_nd_gradient;

// gradient_scatter.cc
Gradient cum_sum_gradient, scatter_elements_gradient, scatter_nd_gradient, top_k_gradient;

// gradient_resize.cc
Gradient resize_gradient;

// gradient_formulas.cc
Gradient lp_normalization_gradient, lrn_gradient, mean_variance_normalization_gradient;

// gradient_einsum.cc
Gradient einsum_gradient;

// gradient_reduce.cc
Gradient reduce_sum_gradient, reduce_mean_gradient, reduce_l1_gradient, reduce_l2_gradient,
    reduce_sum_square_gradient, reduce_log_sum_gradient, reduce_log_sum_exp_gradient,
    reduce_extremum_gradient, reduce_prod_gradient;

// gradient_product.cc
Gradient conv_gradient, conv_transpose_gradient, gemm_gradient, mat_mul_gradient;

// A list attribute with f(axis) for each spatial axis.
template <class F>
std::vector<int64_t> per_axis(const Window& window, F f) {
  std::vector<int64_t> list;
  for (const WindowAxis& axis : window.spatial()) list.push_back(f(axis));
  return list;
}
std::vector<int64_t> pads_of(const Window& window);

ValueId sum_per_channel(Chain& chain, ValueId x);  // [n, c, spatial...] as [c]

// The attributes of the ConvTranspose that takes gradients of a window's outputs back to all of its
// inputs.
Attributes backwards_attributes(const Window& window, int64_t groups);

// gradient_pool.cc
Gradient average_pool_gradient, global_average_pool_gradient, global_lp_pool_gradient,
    global_max_pool_gradient, lp_pool_gradient, max_pool_gradient;

// gradient_norm.cc
Result<std::vector<ValueId>> expand_batch_normalization_backward(const Node& node,
                                                                 std::span<const ValueId> inputs,
                                                                 Graph& graph);
Gradient batch_normalization_gradient, instance_normalization_gradient,
    layer_normalization_gradient;

// gradient_softmax.cc
Gradient softmax_gradient, log_softmax_gradient, negative_log_likelihood_loss_gradient,
    softmax_cross_entropy_loss_gradient;

// Gradients of operators that are a formula of others. Appends the formula, then the gradients of
// its nodes in reverse order. This computes the operator's outputs a second time, but no gradient
// has to be derived by hand.
class Chain;

// `formula` gives the outputs of the node from its inputs. REQUIRES: every operator that it adds
// has a gradient.
Result<std::vector<ValueId>> gradient_of_formula(
    const Node& node, std::span<const ValueId> outputs, Graph& graph,
    const std::function<std::vector<ValueId>(Chain& chain)>& formula);

}  // namespace shoal::ops
