// ConvWeightsBackward, our own operator: the gradient of Conv's weights, from its image x and the
// gradient dy of its output,
//   dw[m,c,k] = sum over n, o of dy[n,m,o] x[n,c,o*stride + k*dilation - pad]
// A second output, if requested, is the gradient of the bias, the sum of dy per channel. Attributes
// are Conv's, with kernel_shape.
#include <numeric>
#include <string>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;

Result<Shape> require_weights(const Node& node, const Shape& x, const Shape& dy) {
  SHOAL_TRY(require_spatial(x));
  if (dy.rank() != x.rank()) {
    return invalid("the image has shape " + to_string(x) + ", the output " + to_string(dy));
  }
  const int64_t groups = node.integer("group", 1);
  if (groups < 1) return invalid("there are " + std::to_string(groups) + " groups");
  Shape w{dy[1], x[1] / groups};
  SHOAL_ASSIGN(const Ints kernel, require_list(node, "kernel_shape", x.rank() - 2, 1, 1));
  for (int64_t size : kernel) w.push_back(size);
  return w;
}

Shape weights_of(const Node& node, const Shape& x, const Shape& dy) {
  auto shape = require_weights(node, x, dy);
  SHOAL_CHECK(shape.ok());
  return *shape;
}

Result<std::vector<TensorType>> infer_conv_weights_backward(const Node& node,
                                                            std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  const Shape &x = inputs[0].type.shape, &dy = inputs[1].type.shape;
  SHOAL_ASSIGN(const Shape w, require_weights(node, x, dy));
  SHOAL_ASSIGN(const Convolution convolution, require_convolution(node, x, w));
  if (convolution.output_shape() != dy) {
    return invalid("the output has shape " + to_string(dy) + ", should have " +
                   to_string(convolution.output_shape()));
  }
  const DType dtype = inputs[0].type.dtype;
  std::vector<TensorType> types{{dtype, w}};
  if (node.outputs.size() > 1) types.push_back({dtype, {w[0]}});
  return types;
}

// The sum over the outputs of one image for one tap of one filter.
template <class T>
Compute<T> dot_tap(const Window& window, std::array<int64_t, 3> tap, const T* x, const T* dy) {
  const auto& [depth, row, column] = window.axes;
  const auto [kd, kh, kw] = tap;
  const Range depths = depth.outputs(kd), rows = row.outputs(kh), columns = column.outputs(kw);
  Compute<T> sum = 0;
  for (int64_t d = depths.begin; d < depths.end; ++d) {
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const T* line = x + (depth.position(d, kd) * row.input + row.position(h, kh)) * column.input;
      const T* of = dy + (d * row.output + h) * column.output;
      for (int64_t i = columns.begin; i < columns.end; ++i) {
        sum +=
            static_cast<Compute<T>>(of[i]) * static_cast<Compute<T>>(line[column.position(i, kw)]);
      }
    }
  }
  return sum;
}

// All taps of filter m on channel c, both counted over all groups.
template <class T>
void sum_taps(const Convolution& conv, const T* x, const T* dy, int64_t m, int64_t c, T* dw) {
  const auto& [depth, row, column] = conv.window.axes;
  const int64_t in = conv.groups * conv.in_channels, out = conv.groups * conv.out_channels;
  for (int64_t kd = 0; kd < depth.kernel; ++kd) {
    for (int64_t kh = 0; kh < row.kernel; ++kh) {
      for (int64_t kw = 0; kw < column.kernel; ++kw) {
        Compute<T> sum = 0;
        for (int64_t n = 0; n < conv.batch; ++n) {
          sum += dot_tap(conv.window, {kd, kh, kw}, x + (n * in + c) * conv.input_plane(),
                         dy + (n * out + m) * conv.output_plane());
        }
        *dw++ = static_cast<T>(sum);
      }
    }
  }
}

template <class T>
T sum_channel(const Convolution& conv, const T* dy, int64_t m) {
  const int64_t plane = conv.output_plane(), out = conv.groups * conv.out_channels;
  Compute<T> sum = 0;
  for (int64_t n = 0; n < conv.batch; ++n) {
    const T* first = dy + (n * out + m) * plane;
    sum += std::accumulate(first, first + plane, Compute<T>{0},
                           [](Compute<T> a, T b) { return a + static_cast<Compute<T>>(b); });
  }
  return static_cast<T>(sum);
}

void reference_conv_weights_backward(const Node& node, std::span<const Tensor> inputs,
                                     std::span<Tensor> outputs) {
  const Shape w = weights_of(node, inputs[0].shape(), inputs[1].shape());
  const Convolution conv = convolution_of(node, inputs[0].shape(), w);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    const T *x = inputs[0].data<T>().data(), *dy = inputs[1].data<T>().data();
    T* dw = outputs[0].data<T>().data();
    for (int64_t m = 0; m < w[0]; ++m) {
      const int64_t first = m / conv.out_channels * conv.in_channels;
      for (int64_t c = 0; c < conv.in_channels; ++c, dw += conv.taps()) {
        sum_taps(conv, x, dy, m, first + c, dw);
      }
      if (outputs.size() > 1) {
        outputs[1].data<T>()[static_cast<size_t>(m)] = sum_channel(conv, dy, m);
      }
    }
  });
}

// [n, groups * c, spatial...] as [c, groups * n, spatial...].
ValueId images_as_channels(Chain& chain, ValueId x, int64_t groups) {
  const Shape shape = chain.shape_of(x);
  Shape apart{shape[0], groups, shape[1] / groups}, together{shape[1] / groups, groups * shape[0]};
  Ints order{2, 1, 0};
  for (size_t d = 2; d < shape.rank(); ++d) {
    apart.push_back(shape[d]);
    together.push_back(shape[d]);
    order.push_back(static_cast<int64_t>(d + 1));
  }
  return chain.reshape(chain.transpose(chain.reshape(x, apart), std::move(order)), together);
}

Ints first_two_swapped(size_t rank) {
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return order;
}

// A Conv whose taps are the outputs and whose channels are the images, so stride and dilation are
// exchanged:
//   dw[c,m,k] = sum over n, o of dy[m,n,o] x[c,n,k*dilation + o*stride - pad]
Result<std::vector<ValueId>> expand_node(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  Chain chain(graph, inputs[0]);
  const size_t rank = chain.shape_of(inputs[0]).rank();
  const Shape w = weights_of(node, chain.shape_of(inputs[0]), chain.shape_of(inputs[1]));
  const Convolution conv_there = convolution_of(node, chain.shape_of(inputs[0]), w);
  const Window& window = conv_there.window;
  const ValueId filters = chain.transpose(inputs[1], first_two_swapped(rank));  // [m, n, o...]
  const ValueId wide =  // [c, m, at least k...]
      chain.add(conv, {images_as_channels(chain, inputs[0], conv_there.groups), filters},
                {{"strides", per_axis(window, [](const WindowAxis& a) { return a.dilation; })},
                 {"dilations", per_axis(window, [](const WindowAxis& a) { return a.stride; })},
                 {"pads", pads_of(window)},
                 {"group", conv_there.groups}});
  // Elements at the end of x that no output reached give taps that the kernel does not have.
  Ints axes(rank - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const Ints kernel = per_axis(window, [](const WindowAxis& a) { return a.kernel; });
  const ValueId cut = chain.add(
      slice, {wide, chain.list(Ints(axes.size(), 0)), chain.list(kernel), chain.list(axes)});
  std::vector<ValueId> results{chain.transpose(cut, first_two_swapped(rank))};
  if (node.outputs.size() > 1) results.push_back(sum_per_channel(chain, inputs[1]));
  return chain.finish(std::move(results));
}

int64_t macs_of_conv_weights_backward(const Node& node, std::span<const Operand> inputs,
                                      std::span<const TensorType> outputs) {
  return count_macs(convolution_of(node, inputs[0].type.shape, outputs[0].shape));
}

}  // namespace

SHOAL_RECORD(conv_weights_backward) = {.name = "ConvWeightsBackward",
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .max_outputs = 2,
                                       .infer = infer_conv_weights_backward,
                                       .reference = reference_conv_weights_backward,
                                       .macs = macs_of_conv_weights_backward,
                                       .expand = expand_node};

}  // namespace shoal::ops
