// Gradients of products. Each is linear in either factor, so every gradient is again a product:
// that of Conv for its input is a ConvTranspose, and vice versa; that for the weights is
// ConvWeightsBackward.
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;
using Ints = std::vector<int64_t>;

bool has_bias(const Node& node) { return node.inputs.size() > 2 && node.inputs[2] != kNoValue; }

// The attributes of ConvWeightsBackward.
Attributes weights_attributes(const Convolution& convolution) {
  const Window& window = convolution.window;
  return {{"kernel_shape", per_axis(window, [](const WindowAxis& a) { return a.kernel; })},
          {"strides", per_axis(window, [](const WindowAxis& a) { return a.stride; })},
          {"dilations", per_axis(window, [](const WindowAxis& a) { return a.dilation; })},
          {"pads", pads_of(window)},
          {"group", convolution.groups}};
}

}  // namespace

ValueId sum_per_channel(Chain& chain, ValueId x) {
  const Shape shape = chain.shape_of(x);
  Shape per_channel = Shape::filled(shape.rank(), 1);
  per_channel[1] = shape[1];
  return chain.reshape(chain.sum_to(x, per_channel), {shape[1]});
}

std::vector<int64_t> pads_of(const Window& window) {
  Ints pads = per_axis(window, [](const WindowAxis& a) { return a.pad_begin; });
  for (const WindowAxis& axis : window.spatial()) pads.push_back(axis.pad_end);
  return pads;
}

Attributes backwards_attributes(const Window& window, int64_t groups) {
  Ints pads = per_axis(window, [](const WindowAxis& a) { return a.pad_begin; });
  Ints more;  // elements at the end of x that no window reaches
  for (const WindowAxis& axis : window.spatial()) {
    const int64_t reach = (axis.output - 1) * axis.stride + axis.extent() - axis.pad_begin;
    pads.push_back(std::max<int64_t>(reach - axis.input, 0));
    more.push_back(std::max<int64_t>(axis.input - reach, 0));
  }
  return {{"strides", per_axis(window, [](const WindowAxis& a) { return a.stride; })},
          {"dilations", per_axis(window, [](const WindowAxis& a) { return a.dilation; })},
          {"pads", std::move(pads)},
          {"output_padding", std::move(more)},
          {"group", groups}};
}

Gradients conv_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = outputs[0];
  const Convolution sizes = convolution_of(node, chain.shape_of(x), chain.shape_of(w));
  // The gradient of the weights comes first: x is then read for the last time before dx, which is
  // as large, is allocated.
  std::vector<ValueId> gradients = chain.add_all(conv_weights_backward, {x, dy},
                                                 weights_attributes(sizes), has_bias(node) ? 2 : 1);
  gradients.insert(gradients.begin(), chain.add(conv_transpose, {dy, w},
                                                backwards_attributes(sizes.window, sizes.groups)));
  return chain.finish(std::move(gradients));
}

Gradients conv_transpose_gradient(const Node& node, std::span<const ValueId> outputs,
                                  Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = outputs[0];
  if (chain.shape_of(dy).count() == 0) return std::vector<ValueId>(node.inputs.size(), kNoValue);
  Convolution sizes = transposed_convolution_of(node, chain.shape_of(x), chain.shape_of(w));
  // The end of y that no element of x reaches is bias only; it is cropped from dy.
  Ints crop(2 * (sizes.window.rank + 2), 0);
  for (size_t d = 0; d < sizes.window.rank; ++d) {
    WindowAxis& axis = sizes.window.axes[Window::kMaxRank - sizes.window.rank + d];
    const int64_t reach = (axis.output - 1) * axis.stride + axis.extent() - axis.pad_begin;
    crop[sizes.window.rank + 2 + d + 2] = std::min<int64_t>(reach - axis.input, 0);
    axis.pad_end = std::max<int64_t>(reach - axis.input, 0);
    axis.input = std::min(axis.input, reach);
  }
  const ValueId reached = chain.add(pad_, {dy, chain.list(crop)});
  const Window& window = sizes.window;
  const ValueId dx =
      chain.add(conv, {reached, w},
                {{"strides", per_axis(window, [](const WindowAxis& a) { return a.stride; })},
                 {"dilations", per_axis(window, [](const WindowAxis& a) { return a.dilation; })},
                 {"pads", pads_of(window)},
                 {"group", sizes.groups}});
  std::vector<ValueId> gradients{
      dx, chain.add(conv_weights_backward, {reached, x}, weights_attributes(sizes))};
  if (has_bias(node)) gradients.push_back(sum_per_channel(chain, dy));
  return chain.finish(std::move(gradients));
}

// y = alpha A' B' + beta C: dA' = alpha dy B'^T, dB' = alpha A'^T dy, transposed where A or B is,
// and dC = beta dy, summed where C was stretched.
Gradients gemm_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId a = node.inputs[0], b = node.inputs[1], dy = outputs[0];
  const bool ta = node.integer("transA", 0) != 0, tb = node.integer("transB", 0) != 0;
  const auto product = [&](ValueId left, bool left_turned, ValueId right, bool right_turned) {
    return chain.add(gemm, {left, right},
                     {{"alpha", node.real("alpha", 1)},
                      {"transA", int64_t{left_turned}},
                      {"transB", int64_t{right_turned}}});
  };
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  gradients[0] = ta ? product(b, tb, dy, true) : product(dy, false, b, !tb);
  gradients[1] = tb ? product(dy, true, a, ta) : product(a, !ta, dy, false);
  if (has_bias(node)) {
    const ValueId dc = chain.sum_to(dy, chain.shape_of(node.inputs[2]));
    const double beta = node.real("beta", 1);
    gradients[2] = beta == 1 ? dc : chain.add(mul, {dc, chain.scalar(beta)});
  }
  return chain.finish(std::move(gradients));
}

namespace {

ValueId last_two_swapped(Chain& chain, ValueId x) {
  const auto rank = static_cast<int64_t>(chain.shape_of(x).rank());
  Ints order;
  for (int64_t d = 0; d < rank; ++d) order.push_back(d < rank - 2 ? d : 2 * rank - 3 - d);
  return chain.transpose(x, std::move(order));
}

Shape as_rows(const Shape& shape) {
  const size_t last = shape.rank() - 1;
  return {shape.count(0, last), shape[last]};
}

}  // namespace

// y = a b: da = dy b^T, db = a^T dy, summed over the batch axes that were stretched.
Gradients mat_mul_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape a_shape = chain.shape_of(node.inputs[0]), b_shape = chain.shape_of(node.inputs[1]);
  // A vector is a matrix of one row on the left, of one column on the right.
  const Shape a_wide = a_shape.rank() == 1 ? Shape{1, a_shape[0]} : a_shape;
  const Shape b_wide = b_shape.rank() == 1 ? Shape{b_shape[0], 1} : b_shape;
  const bool a_leads = a_wide.rank() >= b_wide.rank();
  Shape y_shape = chain.shape_of(outputs[0]);
  if (a_shape.rank() == 1 || b_shape.rank() == 1) {
    y_shape = a_leads ? a_wide : b_wide;
    y_shape[y_shape.rank() - 2] = a_wide[a_wide.rank() - 2];
    y_shape[y_shape.rank() - 1] = b_wide[b_wide.rank() - 1];
  }
  const ValueId a = chain.reshape(node.inputs[0], a_wide),
                b = chain.reshape(node.inputs[1], b_wide);
  const ValueId dy = chain.reshape(outputs[0], y_shape);
  const ValueId da = chain.sum_to(chain.add(mat_mul, {dy, last_two_swapped(chain, b)}), a_wide);
  ValueId db;
  if (b_wide.rank() == 2) {  // all matrices of a meet the same b: one product, no sum
    const ValueId rows = chain.reshape(a, as_rows(a_wide)),
                  dys = chain.reshape(dy, as_rows(y_shape));
    db = chain.add(gemm, {rows, dys}, {{"transA", int64_t{1}}});
  } else {
    db = chain.sum_to(chain.add(mat_mul, {last_two_swapped(chain, a), dy}), b_wide);
  }
  return chain.finish({chain.reshape(da, a_shape), chain.reshape(db, b_shape)});
}

}  // namespace shoal::ops
