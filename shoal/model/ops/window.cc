// The geometry of windows: output sizes, padding, and the input that a tile reads.
#include "shoal/model/ops/window.h"

#include <algorithm>
#include <string>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/base/round_up.h"

namespace shoal::ops {
namespace {

// The attributes, each list with one element per spatial axis (pads: two).
struct Geometry {
  std::vector<int64_t> kernel, strides, dilations, pads;
  std::string auto_pad;
  bool ceil_mode = false;
};

Result<Geometry> require_geometry(const Node& node, std::vector<int64_t> kernel) {
  const size_t rank = kernel.size();
  Geometry geometry;
  geometry.kernel = std::move(kernel);
  SHOAL_ASSIGN(geometry.strides, require_list(node, "strides", rank, 1, 1));
  SHOAL_ASSIGN(geometry.dilations, require_list(node, "dilations", rank, 1, 1));
  SHOAL_ASSIGN(geometry.pads, require_list(node, "pads", 2 * rank, 0, 0));
  geometry.auto_pad = node.text("auto_pad", "NOTSET");
  geometry.ceil_mode = node.integer("ceil_mode", 0) != 0;
  return geometry;
}

// SAME: output = ceil(input / stride), and the padding is as much as that takes:
// total = max(0, (output - 1) * stride + extent - input)
// An odd element goes to the end for SAME_UPPER and to the beginning for SAME_LOWER.
Status pad_same(WindowAxis& axis, Checked extent, bool upper) {
  axis.output = ceil_div(axis.input, axis.stride);
  const Checked spare =
      Checked(std::max<int64_t>(axis.output - 1, 0)) * axis.stride + extent - Checked(axis.input);
  const int64_t total = std::max<int64_t>(spare.value(), 0);
  if (total > kLimits.max_dimension) return invalid("the kernel is too large");
  axis.pad_begin = upper ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
  return {};
}

// Explicit padding: output = floor((input + pads - extent) / stride) + 1. With ceil_mode the
// quotient is rounded up, so a last window that overhangs the end by less than a stride counts too.
Status pad_explicitly(WindowAxis& axis, Checked extent, bool ceil_mode) {
  const int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
  const int64_t reach = ceil_mode ? padded + axis.stride - 1 : padded;
  if (extent.value() > reach) {
    return invalid("a kernel that spans " + std::to_string(extent.value()) +
                   " is larger than the padded input of " + std::to_string(padded));
  }
  axis.output = (reach - extent.value()) / axis.stride + 1;
  if (ceil_mode) {
    // A window that would start in the padding at the end is dropped: ONNX says so since opset 22,
    // and every framework did before.
    axis.output = std::min(axis.output, ceil_div(axis.input + axis.pad_begin, axis.stride));
  }
  return {};
}

// The extent of a kernel is (kernel - 1) * dilation + 1. Both factors come from a file, so the
// product is checked. ONNX defines VALID as explicit padding of zero, without ceil_mode.
Status pad(WindowAxis& axis, const Geometry& geometry) {
  const Checked extent = (Checked(axis.kernel) - 1) * axis.dilation + 1;
  if (!extent.ok()) return invalid("the kernel is too large");
  if (geometry.auto_pad == "NOTSET") return pad_explicitly(axis, extent, geometry.ceil_mode);
  axis.pad_begin = axis.pad_end = 0;
  if (geometry.auto_pad == "VALID") return pad_explicitly(axis, extent, false);
  if (geometry.auto_pad == "SAME_UPPER") return pad_same(axis, extent, true);
  if (geometry.auto_pad == "SAME_LOWER") return pad_same(axis, extent, false);
  return invalid("auto_pad is " + geometry.auto_pad +
                 ", should be NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

Result<Window> make_window(const Geometry& geometry, const Shape& x) {
  Window window;
  window.rank = geometry.kernel.size();
  for (size_t d = 0; d < window.rank; ++d) {
    WindowAxis& axis = window.axes[Window::kMaxRank - window.rank + d];
    axis = {.input = x[d + 2],
            .kernel = geometry.kernel[d],
            .stride = geometry.strides[d],
            .dilation = geometry.dilations[d],
            .pad_begin = geometry.pads[d],
            .pad_end = geometry.pads[window.rank + d]};
    SHOAL_TRY(pad(axis, geometry));
  }
  return window;
}

// The input that the box [out.begin, out.end) of one output axis reads.
struct Reads {
  Range input;
  int64_t pad_begin, pad_end;
};

Reads reads_of(const WindowAxis& axis, Range out) {
  const int64_t begin = axis.position(out.begin, 0);
  const int64_t end = axis.position(out.end - 1, axis.kernel - 1) + 1;
  if (end <= 0 || begin >= axis.input) return {{0, 0}, end - begin, 0};  // padding only
  const Range input{std::max<int64_t>(begin, 0), std::min(end, axis.input)};
  // With ceil_mode the last window may reach beyond the padding, which must not grow in the tile:
  // an average counts it.
  const int64_t last = std::min(end, axis.input + axis.pad_end);
  return {input, input.begin - begin, last - input.end};
}

Range range_between(int64_t begin, int64_t end) { return {begin, std::max(begin, end)}; }

// The indices i in [0, count) for which 0 <= start + i * step < size.
Range inside(int64_t start, int64_t step, int64_t count, int64_t size) {
  const int64_t begin = start >= 0 ? 0 : ceil_div(-start, step);
  const int64_t end = start >= size ? 0 : (size - 1 - start) / step + 1;
  return range_between(std::min(begin, count), std::min(end, count));
}

}  // namespace

// Positions cannot overflow: make_window() has checked that all of them lie within the padded
// input, or less than a stride beyond it.
Range WindowAxis::taps(int64_t o) const { return inside(position(o, 0), dilation, kernel, input); }

// The first tap always lies on the input or its padding, so there is at least one.
int64_t WindowAxis::padded_taps(int64_t o) const {
  const int64_t room = input + pad_end - position(o, 0);
  return std::min(kernel, (room - 1) / dilation + 1);
}

Range WindowAxis::outputs(int64_t k) const { return inside(position(0, k), stride, output, input); }

Shape Window::output_shape(int64_t batch, int64_t channels) const {
  Shape shape{batch, channels};
  for (const WindowAxis& axis : spatial()) shape.push_back(axis.output);
  return shape;
}

Result<std::vector<int64_t>> require_list(const Node& node, std::string_view name, size_t count,
                                          int64_t low, int64_t fallback) {
  std::vector<int64_t> list = node.integers(name);
  if (list.empty()) return std::vector<int64_t>(count, fallback);
  if (list.size() != count) {
    return invalid(std::string(name) + " has " + std::to_string(list.size()) +
                   " elements, should have " + std::to_string(count));
  }
  for (int64_t element : list) {
    if (element < low || element > kLimits.max_dimension) {
      return invalid(std::string(name) + " holds " + std::to_string(element) +
                     ", which is out of range");
    }
  }
  return list;
}

Status require_spatial(const Shape& x) {
  if (x.rank() < 3 || x.rank() > 2 + Window::kMaxRank) {
    return invalid("the input has rank " + std::to_string(x.rank()) +
                   ", should have batch, channels and 1 to 3 spatial axes");
  }
  return {};
}

// ONNX allows kernel_shape to be left out of a convolution. Where it is given, it must agree.
Result<std::vector<int64_t>> require_kernel(const Node& node, const Shape& x, const Shape& w) {
  SHOAL_TRY(require_spatial(x));
  if (w.rank() != x.rank()) {
    return invalid("weights " + to_string(w) + " and input " + to_string(x) +
                   " have different ranks");
  }
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  if (std::ranges::min(kernel) < 1) return invalid("weights " + to_string(w) + " are empty");
  const std::vector<int64_t> repeated = node.integers("kernel_shape");
  if (!repeated.empty() && repeated != kernel) {
    return invalid("kernel_shape is not that of the weights " + to_string(w));
  }
  return kernel;
}

Result<Window> require_window(const Node& node, const Shape& x) {
  SHOAL_TRY(require_spatial(x));
  if (!node.has("kernel_shape")) return invalid("kernel_shape is missing");
  SHOAL_ASSIGN(std::vector<int64_t> kernel, require_list(node, "kernel_shape", x.rank() - 2, 1, 1));
  SHOAL_ASSIGN(const Geometry geometry, require_geometry(node, std::move(kernel)));
  return make_window(geometry, x);
}

Result<Window> require_window(const Node& node, const Shape& x, const Shape& w) {
  SHOAL_ASSIGN(std::vector<int64_t> kernel, require_kernel(node, x, w));
  SHOAL_ASSIGN(const Geometry geometry, require_geometry(node, std::move(kernel)));
  return make_window(geometry, x);
}

// `infer` has called the same function with the same shapes, so it cannot fail here.
Window window_of(const Node& node, const Shape& x) {
  auto window = require_window(node, x);
  SHOAL_CHECK(window.ok());
  return *window;
}

Window window_of(const Node& node, const Shape& x, const Shape& w) {
  auto window = require_window(node, x, w);
  SHOAL_CHECK(window.ok());
  return *window;
}

ReceptiveField receptive_field(const Window& window, const Shape& x, const Region& output) {
  ReceptiveField field{Region::whole(x), std::vector<int64_t>(2 * window.rank)};
  field.x.begin[0] = output.begin[0];
  field.x.end[0] = output.end[0];
  for (size_t d = 0; d < window.rank; ++d) {
    const Reads reads = reads_of(window.spatial()[d], {output.begin[d + 2], output.end[d + 2]});
    field.x.begin[d + 2] = reads.input.begin;
    field.x.end[d + 2] = reads.input.end;
    field.pads[d] = reads.pad_begin;
    field.pads[window.rank + d] = reads.pad_end;
  }
  return field;
}

// auto_pad is resolved for the whole input. In a tile it would be resolved again, for the wrong
// size.
Attributes attributes_in_tile(const Node& node, const ReceptiveField& field) {
  Attributes attributes = node.attributes;
  attributes.erase("auto_pad");
  attributes["pads"] = field.pads;
  return attributes;
}

}  // namespace shoal::ops
