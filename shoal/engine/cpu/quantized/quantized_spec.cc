// Parameters of a quantised convolution, folded so that the inner loop multiplies unchanged bytes:
//   sum of (x - x_zero) * w + bias = sum of x * w + (bias - x_zero * sum of w)
//   y = round(sum * x_scale * w_scale / y_scale) + y_zero
// Arithmetic is modulo 2^32, so that intermediate overflow does not matter.
#include "shoal/engine/cpu/quantized/quantized_spec.h"

#include <algorithm>

#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/model/ops/quantized/quantize.h"

namespace shoal::cpu {
namespace {

using In = QConvInputs;

constexpr uint8_t kSignBit = 0x80;

// One parameter for all channels, or one per channel.
template <class T>
T at(const Tensor& parameters, int64_t channel) {
  return parameters.data<T>()[parameters.count() == 1 ? 0 : static_cast<size_t>(channel)];
}

Requantize finish_of(const KernelSpec& spec) {
  const auto zero_point = [&](size_t i) { return ops::zero_point_of(*spec.constant(i)); };
  const auto scale = [&](size_t i) { return ops::scale_of(*spec.constant(i)); };
  const DType dtype = spec.outputs[0].dtype;
  Requantize finish;
  finish.own = Rounding(ops::bounds_of(spec.node, dtype), zero_point(In::kYZeroPoint), dtype);
  if (!spec.given(In::kResidual)) return finish;
  finish.sum = Rounding(ops::bounds_of(spec.node, dtype), zero_point(In::kSumZeroPoint), dtype);
  finish.own = Rounding(ops::bounds_of_type(dtype), zero_point(In::kYZeroPoint), dtype);
  finish.own_scale = scale(In::kYScale) / scale(In::kSumScale);
  finish.residual_scale = scale(In::kResidualScale) / scale(In::kSumScale);
  finish.residual_flip = flip_of(dtype);
  finish.residual_zero = zero_point(In::kResidualZeroPoint) + finish.residual_flip;
  return finish;
}

}  // namespace

QuantizedSpec::QuantizedSpec(const KernelSpec& spec)
    : conv(blocked_convolution_of(spec.node, spec.shape(In::kX), spec.shape(In::kW))),
      block(spec.outputs[0].shape[4]),
      in_channels(conv.groups * conv.in_channels),
      in_blocks((in_channels + block - 1) / block),
      out_blocks(spec.outputs[0].shape[1]),
      image_is_blocked(spec.shape(In::kX).rank() == spec.outputs[0].shape.rank()),
      x_flip(flip_of(spec.inputs[In::kX].type.dtype)),
      x_zero(ops::zero_point_of(*spec.constant(In::kXZeroPoint)) + x_flip),
      bias(static_cast<size_t>(out_blocks * block)),
      scales(bias.size()),
      finish(finish_of(spec)) {
  const Tensor& w = *spec.constant(In::kW);
  // u8 weights with zero point 128 are i8 weights without one, once the sign bit is flipped.
  if (w.dtype() == DType::kU8) {
    for (uint8_t x : w.data<uint8_t>()) {
      signed_weights.push_back(static_cast<int8_t>(x ^ kSignBit));
    }
    weights = signed_weights.data();
  } else {
    weights = w.data<int8_t>().data();
  }
  const float x_scale = ops::scale_of(*spec.constant(In::kXScale));
  const float y_scale = ops::scale_of(*spec.constant(In::kYScale));
  const Tensor* given = spec.constant(In::kBias);
  for (int64_t m = 0; m < conv.groups * conv.out_channels; ++m) {
    const auto i = static_cast<size_t>(m);
    scales[i] = x_scale * at<float>(*spec.constant(In::kWScale), m) / y_scale;
    if (given != nullptr) bias[i] = given->data<int32_t>()[i];
  }
  // A 32-bit sum is at most 2^31 as a float. With scales below 1 the product still converts to 32
  // bits.
  finish.own.fits = std::ranges::all_of(scales, [](float scale) { return scale < 1; });
}

void QuantizedSpec::fold_zero_point(int32_t offset) {
  const int64_t taps = conv.in_channels * conv.taps();
  for (int64_t m = 0; m < conv.groups * conv.out_channels; ++m) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < taps; ++i) sum += static_cast<uint32_t>(weights[m * taps + i]);
    int32_t& b = bias[static_cast<size_t>(m)];
    b = static_cast<int32_t>(static_cast<uint32_t>(b) -
                             static_cast<uint32_t>(x_zero - offset) * sum);
  }
}

bool has_plain_weights(std::span<const Operand> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_image = i == In::kX || i == In::kResidual;
    if (!is_image && inputs[i].given && inputs[i].value == nullptr) return false;
  }
  for (size_t i : {In::kXZeroPoint, In::kWZeroPoint}) {
    if (!inputs[i].given) return false;
  }
  const Tensor zeros = ops::converted(*inputs[In::kWZeroPoint].value, DType::kI32);
  const int32_t none = inputs[In::kW].type.dtype == DType::kU8 ? kSignBit : 0;
  return std::ranges::all_of(zeros.data<int32_t>(), [&](int32_t zero) { return zero == none; });
}

}  // namespace shoal::cpu
