// ConvTranspose: y[n,m,o] = b[m] + sum of w[c,m,k] x[n,c,i] over all c, i and k with i*stride +
// k*dilation - pad = o. It is the gradient of a Conv from y to x, so its window is that Conv's:
// `input` of an axis is an axis of y, `output` one of x. Its own gradient is a Conv
// (gradient_product.cc).
#include <algorithm>
#include <string>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The attributes, each list with one element per spatial axis (pads: two; output_shape: may be
// empty).
struct Geometry {
  std::vector<int64_t> strides, dilations, pads, output_padding, output_shape;
  std::string auto_pad;
};

Result<Geometry> require_geometry(const Node& node, size_t rank) {
  Geometry geometry;
  SHOAL_ASSIGN(geometry.strides, require_list(node, "strides", rank, 1, 1));
  SHOAL_ASSIGN(geometry.dilations, require_list(node, "dilations", rank, 1, 1));
  SHOAL_ASSIGN(geometry.pads, require_list(node, "pads", 2 * rank, 0, 0));
  SHOAL_ASSIGN(geometry.output_padding, require_list(node, "output_padding", rank, 0, 0));
  geometry.auto_pad = node.text("auto_pad", "NOTSET");
  if (!node.integers("output_shape").empty()) {
    SHOAL_ASSIGN(geometry.output_shape, require_list(node, "output_shape", rank, 1, 1));
  }
  return geometry;
}

// Sets the padding and the size of y along spatial axis d:
//   full = (x - 1) * stride + (kernel - 1) * dilation + 1 + output_padding
//   y    = output_shape, or x * stride for SAME, or else full - pads
// Where y is larger than the kernel reaches, the padding at the end is negative and the rest of y
// is bias. As ONNX has it, an explicit output_shape divides the padding like SAME_LOWER.
Status pad(WindowAxis& axis, const Geometry& geometry, size_t d) {
  const bool upper = geometry.auto_pad == "SAME_UPPER", lower = geometry.auto_pad == "SAME_LOWER";
  if (!upper && !lower && geometry.auto_pad != "NOTSET" && geometry.auto_pad != "VALID") {
    return invalid("auto_pad is " + geometry.auto_pad +
                   ", should be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
  }
  const Checked full = (Checked(axis.output) - 1) * axis.stride +
                       (Checked(axis.kernel) - 1) * axis.dilation + 1 + geometry.output_padding[d];
  Checked size = full;
  if (!geometry.output_shape.empty()) {
    size = geometry.output_shape[d];
  } else if (upper || lower) {
    size = Checked(axis.output) * axis.stride;
  } else if (geometry.auto_pad == "NOTSET") {
    axis.pad_begin = geometry.pads[d];
    axis.pad_end = geometry.pads[geometry.strides.size() + d];
    size = full - axis.pad_begin - axis.pad_end;
  }
  if (!full.ok() || full.value() > kLimits.max_dimension || !size.ok() || size.value() < 0 ||
      size.value() > kLimits.max_dimension) {
    return invalid("the output would have a size out of range along spatial axis " +
                   std::to_string(d));
  }
  axis.input = size.value();
  if (!geometry.output_shape.empty() || upper || lower) {
    const int64_t total = full.value() - size.value();
    const int64_t cut = std::max<int64_t>(total, 0);
    axis.pad_begin = upper ? cut / 2 : cut - cut / 2;
    axis.pad_end = total - axis.pad_begin;
  }
  return {};
}

Result<Window> require_window_backwards(const Node& node, const Shape& x, const Shape& w) {
  SHOAL_ASSIGN(const std::vector<int64_t> kernel, require_kernel(node, x, w));
  Window window;
  window.rank = kernel.size();
  SHOAL_ASSIGN(const Geometry geometry, require_geometry(node, window.rank));
  for (size_t d = 0; d < window.rank; ++d) {
    WindowAxis& axis = window.axes[Window::kMaxRank - window.rank + d];
    axis = {.kernel = kernel[d],
            .stride = geometry.strides[d],
            .dilation = geometry.dilations[d],
            .output = x[d + 2]};
    SHOAL_TRY(pad(axis, geometry, d));
  }
  return window;
}

Result<Convolution> require_backwards(const Node& node, const Shape& x, const Shape& w) {
  SHOAL_ASSIGN(Window window, require_window_backwards(node, x, w));
  const int64_t groups = node.integer("group", 1);
  // w[1] counts channels per group; the bound keeps its product with `groups` in range.
  if (groups < 1 || x[1] % groups != 0 || x[1] != w[0] || w[1] > kLimits.max_dimension / groups) {
    return invalid("input " + to_string(x) + " and weights " + to_string(w) + " do not match in " +
                   std::to_string(groups) + " groups");
  }
  return Convolution{x[0], groups, w[1], w[0] / groups, window};
}

Result<std::vector<TensorType>> infer_conv_transpose(const Node& node,
                                                     std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(const Convolution conv,
               require_backwards(node, inputs[0].type.shape, inputs[1].type.shape));
  const int64_t channels = conv.groups * conv.in_channels;
  if (inputs.size() > 2) SHOAL_TRY(require_bias(inputs[2], channels));
  Shape shape{conv.batch, channels};
  for (const WindowAxis& axis : conv.window.spatial()) shape.push_back(axis.input);
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// Adds weight * x, one channel of the input, to `plane` of the output through one tap.
template <class T>
void scatter_tap(const Window& window, std::array<int64_t, 3> tap, const T* x, Compute<T> weight,
                 Compute<T>* plane) {
  const auto& [depth, row, column] = window.axes;
  const auto [kd, kh, kw] = tap;
  const Range depths = depth.outputs(kd), rows = row.outputs(kh), columns = column.outputs(kw);
  for (int64_t d = depths.begin; d < depths.end; ++d) {
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const T* from = x + (d * row.output + h) * column.output;
      const int64_t line = depth.position(d, kd) * row.input + row.position(h, kh);
      // An index, not a pointer: where the first column falls into the padding, the pointer would
      // lie before the plane.
      const int64_t to = line * column.input + column.position(0, kw);
      for (int64_t i = columns.begin; i < columns.end; ++i) {
        plane[to + i * column.stride] += weight * static_cast<Compute<T>>(from[i]);
      }
    }
  }
}

// Adds to `plane`, channel m of group g of one image of y, the contributions of all channels of the
// group.
template <class T>
void scatter(const Convolution& conv, int64_t g, int64_t m, const T* x, const T* weights,
             Compute<T>* plane) {
  const auto& [depth, row, column] = conv.window.axes;
  for (int64_t c = g * conv.out_channels; c < (g + 1) * conv.out_channels; ++c) {
    const T* w = weights + (c * conv.in_channels + m) * conv.taps();
    for (int64_t kd = 0; kd < depth.kernel; ++kd) {
      for (int64_t kh = 0; kh < row.kernel; ++kh) {
        for (int64_t kw = 0; kw < column.kernel; ++kw) {
          scatter_tap(conv.window, {kd, kh, kw}, x + c * conv.output_plane(),
                      static_cast<Compute<T>>(*w++), plane);
        }
      }
    }
  }
}

template <class T>
void run(const Convolution& conv, std::span<const Tensor> inputs, Tensor& output) {
  const T* bias = inputs.size() > 2 && inputs[2].defined() ? inputs[2].data<T>().data() : nullptr;
  const T* w = inputs[1].data<T>().data();
  T* y = output.data<T>().data();
  std::vector<Compute<T>> plane(static_cast<size_t>(conv.input_plane()));
  for (int64_t n = 0; n < conv.batch; ++n) {
    const T* x =
        inputs[0].data<T>().data() + n * conv.groups * conv.out_channels * conv.output_plane();
    for (int64_t m = 0; m < conv.groups * conv.in_channels; ++m) {
      std::ranges::fill(plane, bias != nullptr ? static_cast<Compute<T>>(bias[m]) : 0);
      scatter(conv, m / conv.in_channels, m % conv.in_channels, x, w, plane.data());
      y = std::ranges::transform(plane, y, [](Compute<T> sum) { return static_cast<T>(sum); }).out;
    }
  }
}

void reference_conv_transpose(const Node& node, std::span<const Tensor> inputs,
                              std::span<Tensor> outputs) {
  const Convolution conv = transposed_convolution_of(node, inputs[0].shape(), inputs[1].shape());
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { run<T>(conv, inputs, outputs[0]); });
}

// The part of one axis of x that reaches [begin, end) of y, and the attributes there.
struct Reach {
  Range x;
  int64_t pad_begin, pad_end, output_padding;
};

std::optional<Reach> reach_of(const WindowAxis& axis, int64_t begin, int64_t end) {
  if (axis.output == 0) return std::nullopt;
  // The first x whose last tap reaches y[begin], and the last whose first tap reaches y[end - 1].
  // If the stride is wider than the kernel there may be none; then a neighbour is read, which
  // contributes nothing.
  const int64_t reach = axis.extent() - 1;
  const int64_t from = begin + axis.pad_begin;
  int64_t first = from <= reach ? 0 : (from - reach + axis.stride - 1) / axis.stride;
  first = std::min({first, from / axis.stride, axis.output - 1});
  const int64_t last = std::min((end - 1 + axis.pad_begin) / axis.stride, axis.output - 1);
  const int64_t pad_begin = from - first * axis.stride;
  const int64_t spare = (last - first) * axis.stride + axis.extent() - pad_begin - (end - begin);
  return Reach{
      {first, last + 1}, pad_begin, std::max<int64_t>(spare, 0), std::max<int64_t>(-spare, 0)};
}

// As for Conv, but the roles change: the part of x that reaches the box is read, and pads and
// output_padding cut its contributions to the box.
std::optional<Tile> split_conv_transpose(const Node& node, std::span<const Operand> inputs,
                                         const Region& output) {
  if (output.shape().count() == 0) return std::nullopt;
  const Convolution conv =
      transposed_convolution_of(node, inputs[0].type.shape, inputs[1].type.shape);
  const Range channels{output.begin[1], output.end[1]};
  const std::optional<Range> groups = groups_of(channels, conv.in_channels);
  if (!groups) return std::nullopt;

  Region x = Region::whole(inputs[0].type.shape), w = Region::whole(inputs[1].type.shape);
  x.begin[0] = output.begin[0];
  x.end[0] = output.end[0];
  x.begin[1] = w.begin[0] = groups->begin * conv.out_channels;
  x.end[1] = w.end[0] = groups->end * conv.out_channels;
  if (groups->count() == 1) {
    w.begin[1] = channels.begin - groups->begin * conv.in_channels;
    w.end[1] = channels.end - groups->begin * conv.in_channels;
  }
  const size_t rank = conv.window.rank;
  std::vector<int64_t> pads(2 * rank), output_padding(rank);
  for (size_t d = 0; d < rank; ++d) {
    const auto reach = reach_of(conv.window.spatial()[d], output.begin[d + 2], output.end[d + 2]);
    if (!reach) return std::nullopt;
    x.begin[d + 2] = reach->x.begin;
    x.end[d + 2] = reach->x.end;
    pads[d] = reach->pad_begin;
    pads[rank + d] = reach->pad_end;
    output_padding[d] = reach->output_padding;
  }
  Tile tile{{x, w}, output, node.attributes, {}};
  tile.attributes.erase("auto_pad");
  tile.attributes.erase("output_shape");
  tile.attributes["pads"] = std::move(pads);
  tile.attributes["output_padding"] = std::move(output_padding);
  tile.attributes["group"] = groups->count();
  if (inputs.size() > 2) tile.inputs.push_back({{channels.begin}, {channels.end}});
  return tile;
}

std::optional<Settings> shrink_conv_transpose(const Node& node, std::span<const Operand> inputs,
                                              const Remainder& left) {
  const Shape& x = inputs[0].type.shape;
  return shrink_convolution(node, x, left, x[1] / node.integer("group", 1));
}

int64_t macs_of_conv_transpose(const Node& node, std::span<const Operand> inputs,
                               std::span<const TensorType>) {
  return count_macs(transposed_convolution_of(node, inputs[0].type.shape, inputs[1].type.shape));
}

}  // namespace

Convolution transposed_convolution_of(const Node& node, const Shape& x, const Shape& w) {
  auto convolution = require_backwards(node, x, w);
  SHOAL_CHECK(convolution.ok());
  return *convolution;
}

SHOAL_RECORD(conv_transpose) = {.name = "ConvTranspose",
                                .min_inputs = 2,
                                .max_inputs = 3,
                                .infer = infer_conv_transpose,
                                .reference = reference_conv_transpose,
                                .split = split_conv_transpose,
                                .shrink = shrink_conv_transpose,
                                .linear = true,
                                .macs = macs_of_conv_transpose,
                                .gradient = conv_transpose_gradient};

}  // namespace shoal::ops
