// DeformConv, of opset 19: a Conv of images whose taps are moved, each by a separate offset at
// every output, and weighted by a mask. Between pixels it reads linearly, outside the image 0.
// offset: [n, offset groups * taps * 2, output]: down and to the right, for every tap; mask: [n,
// offset groups * taps, output]. The channels of an offset group share their offsets.
#include <cmath>
#include <string>
#include <vector>

#include "shoal/base/checked.h"
#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

enum Input : size_t { kX, kW, kOffset, kBias, kMask };

Status require_plane(const Operand& operand, const Shape& shape) {
  if (operand.type.shape == shape) return {};
  return invalid("offset or mask has shape " + to_string(operand.type.shape) + ", should have " +
                 to_string(shape));
}

Result<std::vector<TensorType>> infer_deform_conv(const Node& node,
                                                  std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[kX]));
  SHOAL_TRY(require_same_type(inputs));
  const Shape &x = inputs[kX].type.shape, &w = inputs[kW].type.shape;
  if (x.rank() != 4 || w.rank() != 4) return Status(Code::kUnsupported, "takes only images");
  SHOAL_ASSIGN(const Convolution conv, require_convolution(node, x, w));
  const int64_t groups = node.integer("offset_group", 1);
  if (groups < 1 || x[1] % groups != 0) return invalid("offset_group does not divide the channels");
  // A shape beyond any tensor is none that an offset has.
  const Checked taps = Checked(groups) * conv.taps();
  Shape planes = conv.window.output_shape(x[0], (taps * 2).value());
  SHOAL_TRY(require_plane(inputs[kOffset], planes));
  if (inputs.size() > kBias) SHOAL_TRY(require_bias(inputs[kBias], w[0]));
  if (inputs.size() > kMask && inputs[kMask].given) {
    planes[1] = taps.value();
    SHOAL_TRY(require_plane(inputs[kMask], planes));
  }
  return std::vector{TensorType{inputs[kX].type.dtype, conv.window.output_shape(x[0], w[0])}};
}

// The value of a plane between its pixels.
template <class T>
double sample(const T* plane, int64_t height, int64_t width, double y, double x) {
  // Written so that a NaN is outside.
  if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) {
    return 0;
  }
  const double top = std::floor(y), left = std::floor(x);
  const double down = y - top, right = x - left;
  auto at = [&](int64_t row, int64_t column) {
    if (row < 0 || row >= height || column < 0 || column >= width) return 0.0;
    return static_cast<double>(plane[row * width + column]);
  };
  const auto r = static_cast<int64_t>(top), c = static_cast<int64_t>(left);
  return (1 - down) * ((1 - right) * at(r, c) + right * at(r, c + 1)) +
         down * ((1 - right) * at(r + 1, c) + right * at(r + 1, c + 1));
}

template <class T>
struct Image {
  const Convolution& conv;
  const T *x, *offset, *mask;  // mask: null if there is none
  int64_t channels_per_offset;

  // What channel c contributes by tap (i, j) to output (p, q), before its weight.
  double read(int64_t c, int64_t i, int64_t j, int64_t p, int64_t q) const {
    const WindowAxis &rows = conv.window.axes[1], &columns = conv.window.axes[2];
    const int64_t tap = (c / channels_per_offset * rows.kernel + i) * columns.kernel + j;
    const int64_t plane = rows.output * columns.output, at = p * columns.output + q;
    const double y = static_cast<double>(rows.position(p, i)) +
                     static_cast<double>(offset[2 * tap * plane + at]);
    const double z = static_cast<double>(columns.position(q, j)) +
                     static_cast<double>(offset[(2 * tap + 1) * plane + at]);
    const double value =
        sample(x + c * rows.input * columns.input, rows.input, columns.input, y, z);
    return mask == nullptr ? value : value * static_cast<double>(mask[tap * plane + at]);
  }
};

// The sums of all output channels at one place.
template <class T>
void convolve_at(const Image<T>& image, const T* w, int64_t p, int64_t q,
                 std::vector<double>& sums) {
  const Convolution& conv = image.conv;
  const WindowAxis &rows = conv.window.axes[1], &columns = conv.window.axes[2];
  for (int64_t c = 0; c < conv.groups * conv.in_channels; ++c) {
    const int64_t group = c / conv.in_channels;
    for (int64_t tap = 0; tap < conv.taps(); ++tap) {
      const double value = image.read(c, tap / columns.kernel, tap % columns.kernel, p, q);
      for (int64_t m = group * conv.out_channels; m < (group + 1) * conv.out_channels; ++m) {
        const T weight =
            w[(m * conv.in_channels + c % conv.in_channels) * rows.kernel * columns.kernel + tap];
        sums[static_cast<size_t>(m)] += value * static_cast<double>(weight);
      }
    }
  }
}

template <class T>
void convolve(const Node& node, std::span<const Tensor> inputs, Tensor& output) {
  const Convolution conv = convolution_of(node, inputs[kX].shape(), inputs[kW].shape());
  const bool biased = inputs.size() > kBias && inputs[kBias].defined();
  const bool masked = inputs.size() > kMask && inputs[kMask].defined();
  const int64_t channels = inputs[kX].shape()[1], filters = inputs[kW].shape()[0];
  const int64_t offset_groups = node.integer("offset_group", 1);
  const int64_t taps = offset_groups * conv.taps(), plane = conv.output_plane();
  const int64_t width = conv.window.axes[2].output;
  T* y = output.data<T>().data();
  for (int64_t n = 0; n < conv.batch; ++n, y += filters * plane) {
    const Image<T> image{conv, inputs[kX].data<T>().data() + n * channels * conv.input_plane(),
                         inputs[kOffset].data<T>().data() + n * 2 * taps * plane,
                         masked ? inputs[kMask].data<T>().data() + n * taps * plane : nullptr,
                         channels / offset_groups};
    for (int64_t at = 0; at < plane; ++at) {
      std::vector<double> sums(static_cast<size_t>(filters), 0);
      convolve_at(image, inputs[kW].data<T>().data(), at / width, at % width, sums);
      for (size_t m = 0; m < sums.size(); ++m) {
        const double bias = biased ? static_cast<double>(inputs[kBias].data<T>()[m]) : 0;
        y[static_cast<int64_t>(m) * plane + at] =
            static_cast<T>(static_cast<Compute<T>>(sums[m] + bias));
      }
    }
  }
}

void reference_deform_conv(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  visit<Floats>(inputs[kX].dtype(), [&]<class T>() { convolve<T>(node, inputs, outputs[0]); });
}

int64_t macs_of_deform_conv(const Node& node, std::span<const Operand> inputs,
                            std::span<const TensorType>) {
  return count_macs(convolution_of(node, inputs[kX].type.shape, inputs[kW].type.shape));
}

}  // namespace

SHOAL_RECORD(deform_conv) = {.name = "DeformConv",
                             .min_inputs = 3,
                             .max_inputs = 5,
                             .infer = infer_deform_conv,
                             .reference = reference_deform_conv,
                             .macs = macs_of_deform_conv};

}  // namespace shoal::ops
