// ConvInteger and QLinearConv: convolutions of 8-bit integers,
//   sum = bias + sum over c, k of (w - w_zero) (x - x_zero)
// ConvInteger gives the sums, modulo 2^32. QLinearConv gives round(sum * x_scale * w_scale /
// y_scale) + y_zero, saturated to 8 bits. Padding counts as the zero point of x, so it adds 0.
#include <algorithm>
#include <vector>

#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The positions of the inputs. Zero point and scale of the weights may be one per output channel.
struct Places {
  size_t x, w, x_zero_point, w_zero_point;
};
constexpr Places kInteger{0, 1, 2, 3};
constexpr Places kQLinear{0, 3, 2, 5};
constexpr size_t kXScale = 1, kWScale = 4, kYScale = 6, kYZeroPoint = 7, kBias = 8;

Status require_one_or_per_channel(const Operand& parameter, int64_t channels) {
  if (parameter.type.shape.count() == 1 || parameter.type.shape == Shape{channels}) return {};
  return invalid("a parameter of the weights has shape " + to_string(parameter.type.shape) +
                 ", should be a scalar or have " + to_string(Shape{channels}));
}

// A zero point has the element type of the tensor that it belongs to.
Status require_zero_points(const Places& at, std::span<const Operand> inputs, int64_t channels) {
  if (at.x_zero_point < inputs.size() && inputs[at.x_zero_point].given) {
    SHOAL_TRY(require_single(inputs[at.x_zero_point]));
    SHOAL_TRY(require_same_type(std::array{inputs[at.x], inputs[at.x_zero_point]}));
  }
  if (at.w_zero_point < inputs.size() && inputs[at.w_zero_point].given) {
    SHOAL_TRY(require_one_or_per_channel(inputs[at.w_zero_point], channels));
    SHOAL_TRY(require_same_type(std::array{inputs[at.w], inputs[at.w_zero_point]}));
  }
  return {};
}

Result<Convolution> require_integers(const Places& at, const Node& node,
                                     std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bytes>(inputs[at.x]));
  SHOAL_TRY(require<Bytes>(inputs[at.w]));
  const Shape& w = inputs[at.w].type.shape;
  SHOAL_ASSIGN(const Convolution convolution,
               require_convolution(node, inputs[at.x].type.shape, w));
  SHOAL_TRY(require_zero_points(at, inputs, w[0]));
  return convolution;
}

Result<std::vector<TensorType>> infer_integer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const Convolution convolution, require_integers(kInteger, node, inputs));
  return std::vector{TensorType{DType::kI32, convolution.output_shape()}};
}

Result<std::vector<TensorType>> infer_qlinear(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const Convolution convolution, require_integers(kQLinear, node, inputs));
  const int64_t channels = inputs[kQLinear.w].type.shape[0];
  for (size_t scale : {kXScale, kWScale, kYScale}) SHOAL_TRY(require<Types<float>>(inputs[scale]));
  SHOAL_TRY(require_one_or_per_channel(inputs[kWScale], channels));
  for (size_t one : {kXScale, kYScale, kYZeroPoint}) SHOAL_TRY(require_single(inputs[one]));
  SHOAL_TRY(require<Bytes>(inputs[kYZeroPoint]));
  if (kBias < inputs.size() && inputs[kBias].given) {
    SHOAL_TRY(require<Types<int32_t>>(inputs[kBias]));
    SHOAL_TRY(require_bias(inputs[kBias], channels));
  }
  return std::vector{TensorType{inputs[kYZeroPoint].type.dtype, convolution.output_shape()}};
}

// One parameter per output channel, as T; zeros if the input is not given.
template <class T>
std::vector<T> per_channel(std::span<const Tensor> inputs, size_t i, int64_t channels) {
  if (i >= inputs.size() || !inputs[i].defined())
    return std::vector<T>(static_cast<size_t>(channels));
  const Tensor given = converted(inputs[i], kDTypeOf<T>);
  if (given.count() == 1) {
    return std::vector<T>(static_cast<size_t>(channels), given.data<T>()[0]);
  }
  return {given.data<T>().begin(), given.data<T>().end()};
}

// Calls finish(channel, sums of its plane, first element of the output) for every plane.
template <class X, class W, class Finish>
void convolve_bytes(const Places& at, const Node& node, std::span<const Tensor> inputs,
                    std::span<const int32_t> bias, Finish finish) {
  const Convolution convolution = convolution_of(node, inputs[at.x].shape(), inputs[at.w].shape());
  const int64_t channels = convolution.groups * convolution.out_channels;
  const int32_t x_zero = per_channel<int32_t>(inputs, at.x_zero_point, 1)[0];
  const std::vector<int32_t> w_zeros = per_channel<int32_t>(inputs, at.w_zero_point, channels);
  const X* x = inputs[at.x].data<X>().data();
  const W* w = inputs[at.w].data<W>().data();
  // Unsigned, because sums wrap: int8 products of a long sum exceed int32, and signed overflow is
  // undefined.
  std::vector<uint32_t> plane(static_cast<size_t>(convolution.output_plane()));
  for (int64_t n = 0; n < convolution.batch; ++n) {
    for (int64_t m = 0; m < channels; ++m) {
      const auto channel = static_cast<size_t>(m);
      const int64_t group = n * convolution.groups + m / convolution.out_channels;
      const int32_t w_zero = w_zeros[channel];
      std::ranges::fill(plane, static_cast<uint32_t>(bias[channel]));
      convolve(
          convolution, x + group * convolution.in_channels * convolution.input_plane(),
          w + m * convolution.in_channels * convolution.taps(), plane.data(),
          [=](X element) { return static_cast<uint32_t>(element - x_zero); },
          [=](W element) { return static_cast<uint32_t>(element - w_zero); });
      finish(channel, plane, static_cast<size_t>(n * channels + m) * plane.size());
    }
  }
}

void reference_integer(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const std::vector<int32_t> no_bias(static_cast<size_t>(inputs[kInteger.w].shape()[0]));
  const auto y = outputs[0].data<int32_t>();
  const auto finish = [&](size_t, std::span<const uint32_t> sums, size_t first) {
    std::ranges::transform(sums, y.subspan(first).begin(),
                           [](uint32_t sum) { return static_cast<int32_t>(sum); });
  };
  visit<Bytes>(inputs[kInteger.x].dtype(), [&]<class X>() {
    visit<Bytes>(inputs[kInteger.w].dtype(),
                 [&]<class W>() { convolve_bytes<X, W>(kInteger, node, inputs, no_bias, finish); });
  });
}

void reference_qlinear(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const int64_t channels = inputs[kQLinear.w].shape()[0];
  const std::vector<int32_t> bias = per_channel<int32_t>(inputs, kBias, channels);
  std::vector<float> scales = per_channel<float>(inputs, kWScale, channels);
  // One float factor per channel, computed in this order: kernels and the expansion round the same.
  for (float& scale : scales) {
    scale = inputs[kXScale].data<float>()[0] * scale / inputs[kYScale].data<float>()[0];
  }
  const int32_t y_zero = per_channel<int32_t>(inputs, kYZeroPoint, 1)[0];
  visit<Bytes>(outputs[0].dtype(), [&]<class Y>() {
    const auto y = outputs[0].data<Y>();
    const auto finish = [&](size_t channel, std::span<const uint32_t> sums, size_t first) {
      std::ranges::transform(sums, y.subspan(first).begin(), [&](uint32_t sum) {
        return quantize<Y>(static_cast<float>(static_cast<int32_t>(sum)) * scales[channel], y_zero);
      });
    };
    visit<Bytes>(inputs[kQLinear.x].dtype(), [&]<class X>() {
      visit<Bytes>(inputs[kQLinear.w].dtype(),
                   [&]<class W>() { convolve_bytes<X, W>(kQLinear, node, inputs, bias, finish); });
    });
  });
}

template <const Places& at>
std::optional<Tile> split_conv_integer(const Node& node, std::span<const Operand> inputs,
                                       const Region& output) {
  auto part = split_convolution(node, inputs[at.x].type.shape, inputs[at.w].type.shape, output);
  if (!part) return std::nullopt;
  Tile tile{{}, output, std::move(part->attributes), {}};
  // A vector of more than one element is a parameter per output channel, so it is cut with the
  // channels.
  for (const Operand& input : inputs) {
    const bool per_channel = input.type.shape.rank() == 1 && input.type.shape.count() != 1;
    tile.inputs.push_back(per_channel ? Region{{part->channels.begin}, {part->channels.end}}
                                      : Region::whole(input.type.shape));
  }
  tile.inputs[at.x] = part->x;
  tile.inputs[at.w] = part->w;
  return tile;
}

template <const Places& at>
int64_t macs_of_conv_integer(const Node& node, std::span<const Operand> inputs,
                             std::span<const TensorType>) {
  return count_macs(convolution_of(node, inputs[at.x].type.shape, inputs[at.w].type.shape));
}

}  // namespace

SHOAL_RECORD(conv_integer) = {.name = "ConvInteger",
                              .min_inputs = 2,
                              .max_inputs = 4,
                              .infer = infer_integer,
                              .reference = reference_integer,
                              .split = split_conv_integer<kInteger>,
                              .macs = macs_of_conv_integer<kInteger>};

SHOAL_RECORD(q_linear_conv) = {.name = "QLinearConv",
                               .min_inputs = 8,
                               .max_inputs = 9,
                               .infer = infer_qlinear,
                               .reference = reference_qlinear,
                               .split = split_conv_integer<kQLinear>,
                               .macs = macs_of_conv_integer<kQLinear>};

}  // namespace shoal::ops
