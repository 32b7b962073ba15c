// Rules for convolutions: which of them are computed in the blocked layout. A convolution starts a
// blocked region, because blocks pay for their reorders there: an element of the image is moved
// once and multiplied by taps * channels weights.
#include <algorithm>
#include <cmath>

#include "shoal/base/round_up.h"
#include "shoal/engine/cpu/conv/phases.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/engine/cpu/lower/lowering.h"
#include "shoal/engine/cpu/quantized/byte_loops.h"
#include "shoal/engine/cpu/quantized/quantized_spec.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr size_t kWeights = 1, kBias = 2, kResidual = 3;

// Images of so few channels are read in the plain layout: filling up a block would be most of the
// work.
constexpr int64_t kFewChannels = 4;

bool has_float_image(const Lowering& lowering, const Node& node) {
  const TensorType& x = lowering.graph()[node.inputs[0]].type;
  return x.dtype == DType::kF32 && x.shape.rank() == kImageRank && x.shape.count() > 0;
}

bool has_constant_weights(const Lowering& lowering, const Node& node) {
  return lowering.graph()[node.inputs[kWeights]].constant.has_value();
}

// Kernels copy padded images. A file may ask for nearly any padding, and the copy would have that
// size.
bool has_moderate_padding(const ops::Convolution& conv) {
  constexpr int64_t kMost = 1024;
  return std::ranges::all_of(conv.window.axes, [](const ops::WindowAxis& axis) {
    const int64_t padded = (axis.output - 1) * axis.stride + axis.extent();
    return padded <= axis.input + kMost;
  });
}

bool is_depthwise(const ops::Convolution& conv) {
  return conv.groups > 1 && conv.in_channels == 1 && conv.out_channels == 1;
}

bool fits_conv(const Lowering& lowering, const Node& node) {
  if (!has_float_image(lowering, node)) return false;
  const ops::Convolution conv = ops::convolution_of(node, lowering.shape(node.inputs[0]),
                                                    lowering.shape(node.inputs[kWeights]));
  // Groups must not cross the border of a block.
  const bool grouped = conv.in_channels == conv.out_channels &&
                       conv.in_channels < lowering.block() &&
                       lowering.block() % conv.in_channels == 0;
  const bool packs = is_depthwise(conv) || has_constant_weights(lowering, node);
  if (conv.groups > 1 && (!grouped || !packs)) return false;
  const int64_t channels = conv.groups * conv.out_channels;
  // A single pixel is a product with a vector, which reads the weights in place. Blocks that are
  // more than half empty would waste more than they gain.
  return conv.output_plane() > 1 && round_up(channels, lowering.block()) <= 2 * channels &&
         conv.output_shape().count() > 0 && has_moderate_padding(conv);
}

// Infinities, as those of a variance of -epsilon, would spoil weights of 0.
bool is_finite(const std::optional<ops::ChannelScaling>& scaling) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return scaling && std::ranges::all_of(scaling->scale, finite) &&
         std::ranges::all_of(scaling->shift, finite);
}

// A convolution that clamps, and a scaling of channels behind it that nothing else comes between. A
// scaled clamp is a clamp of what was scaled, so that both are one convolution with other weights
// and other bounds for each channel:
//   s clamp(w x + b, low, high) + t = clamp(s w x + s b + t, s low + t, s high + t)
// where the bounds change places if s is negative.
bool fits_scaled_conv(const Lowering& lowering, const Node& node) {
  const auto is_constant = [&](size_t i) {
    return node.inputs.size() <= i || node.inputs[i] == kNoValue ||
           lowering.graph()[node.inputs[i]].constant.has_value();
  };
  const bool has_residual = node.inputs.size() > kResidual && node.inputs[kResidual] != kNoValue;
  const Node* next = lowering.only_reader(node.outputs[0]);
  const ops::Activation activation = ops::activation_of(node);
  return fits_conv(lowering, node) && is_constant(kWeights) && is_constant(kBias) &&
         !has_residual && activation.op != nullptr && activation.op->elementwise.clamps &&
         next != nullptr && next->inputs[0] == node.outputs[0] &&
         is_finite(scaling_of(lowering, *next));
}

// A plain image is worth blocking if each of its elements meets many weights.
bool fits_few_channels(const Lowering& lowering, const Node& node) {
  constexpr int64_t kManyTaps = 9;
  if (!has_float_image(lowering, node) || !has_constant_weights(lowering, node) ||
      node.integer("group", 1) != 1) {
    return false;
  }
  const ops::Convolution conv = ops::convolution_of(node, lowering.shape(node.inputs[0]),
                                                    lowering.shape(node.inputs[kWeights]));
  const bool worth_it = lowering.is_blocked(node.inputs[0]) ||
                        (conv.taps() >= kManyTaps && conv.in_channels >= lowering.block());
  return worth_it && conv.out_channels > 0 && 2 * conv.out_channels < lowering.block() &&
         conv.output_plane() > 1 && has_moderate_padding(conv);
}

// Phases compute whole blocks, and sums that meet nothing but padding. A product in the plain
// layout computes sums that fall outside of the output. The cheaper of the two wins.
bool fits_conv_transpose(const Lowering& lowering, const Node& node) {
  if (!has_float_image(lowering, node) || node.integer("group", 1) != 1) return false;
  const ops::Convolution conv = ops::transposed_convolution_of(
      node, lowering.shape(node.inputs[0]), lowering.shape(node.inputs[kWeights]));
  const auto computed = static_cast<double>(round_up(conv.in_channels, lowering.block()));
  constexpr double kScatter = 2;  // cost of product and scatter per multiply-accumulate
  return conv.in_channels > 0 &&
         macs_in_phases(conv, computed) <= kScatter * static_cast<double>(ops::count_macs(conv));
}

// Padding of an axis of the Conv that equals a ConvTranspose of stride 1; negative if there is
// none.
ops::Range turned_padding(const ops::WindowAxis& axis) {
  const int64_t begin = axis.extent() - 1 - axis.pad_begin;
  return {begin, axis.input + axis.extent() - 1 - axis.output - begin};
}

// The gradient of a convolution of stride 1 is a convolution, too, so that all kernels of
// BlockedConv compete for it. Constant weights are packed in phases, which turn filters without a
// node.
bool fits_turned(const Lowering& lowering, const Node& node) {
  if (has_constant_weights(lowering, node) || !has_float_image(lowering, node)) return false;
  const ops::Convolution conv = ops::transposed_convolution_of(
      node, lowering.shape(node.inputs[0]), lowering.shape(node.inputs[kWeights]));
  const bool fits = is_depthwise(conv) ? 2 * conv.groups >= lowering.block() &&
                                             conv.input_plane() > 0 && has_moderate_padding(conv)
                                       : fits_conv_transpose(lowering, node);
  return fits && conv.output_plane() > 1 &&
         std::ranges::all_of(conv.window.spatial(), [](const ops::WindowAxis& axis) {
           const auto [begin, end] = turned_padding(axis);
           return axis.stride == 1 && begin >= 0 && end >= 0;
         });
}

// Quantised convolutions are always blocked: no plain kernel computes in bytes, however few the
// channels and pixels are.
bool fits_quantized(const Lowering& lowering, const Node& node) {
  const std::vector<Operand> inputs = lowering.graph().operands(node.inputs);
  const Shape& x = inputs[QConvInputs::kX].type.shape;
  if (x.rank() != kImageRank || lowering.block() % kGroup != 0 || !has_plain_weights(inputs)) {
    return false;
  }
  const ops::Convolution conv = ops::convolution_of(node, x, inputs[QConvInputs::kW].type.shape);
  const bool depthwise = conv.in_channels == 1 && conv.out_channels == 1;
  return (conv.groups == 1 || depthwise) && conv.output_shape().count() > 0 &&
         conv.in_channels > 0 && has_moderate_padding(conv);
}

// Inputs of the replacement. Input 0 is in blocks unless `as_it_is`, and so is input `residual`.
Result<std::vector<ValueId>> inputs_of(Lowering& lowering, const Node& node, size_t residual,
                                       bool as_it_is) {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool image = (i == 0 && !as_it_is) || i == residual;
    SHOAL_ASSIGN(const ValueId id,
                 image ? lowering.blocked_of(node.inputs[i]) : lowering.plain_of(node.inputs[i]));
    inputs.push_back(id);
  }
  return inputs;
}

Status lower_to(const Operator& op, size_t residual, bool as_it_is, Lowering& lowering,
                const Node& node) {
  Attributes attributes = node.attributes;
  attributes["block"] = lowering.block();
  SHOAL_ASSIGN(std::vector<ValueId> inputs, inputs_of(lowering, node, residual, as_it_is));
  return lowering.add_blocked(node, op, std::move(inputs), std::move(attributes));
}

// The output channels, which are those of dy, must fill at least half of a block.
bool fits_weights_backward(const Lowering& lowering, const Node& node) {
  const Shape &x = lowering.shape(node.inputs[0]), &dy = lowering.shape(node.inputs[1]);
  if (!has_float_image(lowering, node) || dy.count() == 0) return false;
  const ops::Convolution conv = ops::convolution_of(node, x, lowering.shape(node.outputs[0]));
  return (conv.groups == 1 || is_depthwise(conv)) && 2 * dy[1] >= lowering.block() &&
         has_moderate_padding(conv);
}

bool has_few_channels(const Lowering& lowering, const Node& node) {
  return !lowering.is_blocked(node.inputs[0]) &&
         lowering.shape(node.inputs[0])[1] <= kFewChannels && node.integer("group", 1) == 1;
}

Status lower_conv(Lowering& lowering, const Node& node) {
  return lower_to(blocked_conv, kResidual, has_few_channels(lowering, node), lowering, node);
}

struct ScaledConv {
  Tensor weights, bias, low, high;
};

ScaledConv scaled_conv(const Lowering& lowering, const Node& node,
                       const ops::ChannelScaling& scaling) {
  const Tensor& weights = *lowering.graph()[node.inputs[kWeights]].constant;
  const bool has_bias = node.inputs.size() > kBias && node.inputs[kBias] != kNoValue;
  const Tensor bias = has_bias ? *lowering.graph()[node.inputs[kBias]].constant : Tensor();
  const ops::Activation clamp = ops::activation_of(node);
  const size_t channels = scaling.scale.size(), filter = weights.data<float>().size() / channels;
  const TensorType per_channel{DType::kF32, {std::ssize(scaling.scale)}};
  ScaledConv result{Tensor(weights.type()), Tensor(per_channel), Tensor(per_channel),
                    Tensor(per_channel)};
  for (size_t c = 0; c < channels; ++c) {
    const double scale = scaling.scale[c], shift = scaling.shift[c];
    const auto scaled = [&](float x) {  // 0 times an infinite bound is 0 as well
      return static_cast<float>(scale == 0 ? shift : scale * x + shift);
    };
    const auto bounds = std::minmax({scaled(clamp.alpha), scaled(clamp.beta)});
    result.bias.data<float>()[c] = scaled(has_bias ? bias.data<float>()[c] : 0);
    result.low.data<float>()[c] = bounds.first;
    result.high.data<float>()[c] = bounds.second;
    for (size_t i = c * filter; i < (c + 1) * filter; ++i) {
      result.weights.data<float>()[i] = static_cast<float>(scale * weights.data<float>()[i]);
    }
  }
  weights.release_pages();  // of a mapped file, which nothing reads again
  return result;
}

Status lower_scaled_conv(Lowering& lowering, const Node& node) {
  const Node& next = *lowering.only_reader(node.outputs[0]);
  ScaledConv scaled = scaled_conv(lowering, node, *scaling_of(lowering, next));
  SHOAL_ASSIGN(const ValueId image, has_few_channels(lowering, node)
                                        ? lowering.plain_of(node.inputs[0])
                                        : lowering.blocked_of(node.inputs[0]));
  const auto constant = [&](const char* role, Tensor& tensor) {
    return lowering.add_constant(lowering.graph()[next.outputs[0]].name + role, std::move(tensor));
  };
  std::vector<ValueId> inputs{
      image,    constant(".weights", scaled.weights), constant(".bias", scaled.bias),
      kNoValue, constant(".low", scaled.low),         constant(".high", scaled.high)};
  Attributes attributes = node.attributes;
  ops::set_activation(attributes, {});
  attributes["block"] = lowering.block();
  return lowering.add_blocked(next, blocked_conv, std::move(inputs), std::move(attributes));
}

Status lower_few_channels(Lowering& lowering, const Node& node) {
  SHOAL_ASSIGN(std::vector<ValueId> inputs, lowering.with_blocked_image(node));
  return lowering.add_plain(node, unblocking_conv, std::move(inputs), node.attributes);
}

Status lower_conv_transpose(Lowering& lowering, const Node& node) {
  return lower_to(blocked_conv_transpose, kResidual, false, lowering, node);
}

Status lower_turned(Lowering& lowering, const Node& node) {
  const ops::Convolution conv = ops::transposed_convolution_of(
      node, lowering.shape(node.inputs[0]), lowering.shape(node.inputs[kWeights]));
  const ops::Range rows = turned_padding(conv.window.axes[1]);
  const ops::Range columns = turned_padding(conv.window.axes[2]);
  Attributes attributes = node.attributes;
  for (const char* name : {"strides", "auto_pad", "output_padding", "output_shape"}) {
    attributes.erase(name);
  }
  attributes["pads"] = std::vector{rows.begin, columns.begin, rows.end, columns.end};
  attributes["block"] = lowering.block();
  SHOAL_ASSIGN(std::vector<ValueId> inputs, inputs_of(lowering, node, kResidual, false));
  SHOAL_ASSIGN(inputs[kWeights], lowering.add(turn_filters, {inputs[kWeights]},
                                              {{"group", node.integer("group", 1)}}));
  return lowering.add_blocked(node, blocked_conv, std::move(inputs), std::move(attributes));
}

Status lower_weights_backward(Lowering& lowering, const Node& node) {
  Attributes attributes = node.attributes;
  attributes["in"] = lowering.shape(node.inputs[0])[1];
  attributes["out"] = lowering.shape(node.inputs[1])[1];
  const bool as_it_is = has_few_channels(lowering, node);
  SHOAL_ASSIGN(const ValueId image,
               as_it_is ? lowering.plain_of(node.inputs[0]) : lowering.blocked_of(node.inputs[0]));
  SHOAL_ASSIGN(const ValueId dy, lowering.blocked_of(node.inputs[1]));
  return lowering.add_plain(node, blocked_conv_weights_backward, {image, dy},
                            std::move(attributes));
}

// The fallback: the operator expands to products.
bool always(const Lowering&, const Node&) { return true; }

Status expand(Lowering& lowering, const Node& node) { return lowering.expand(node); }

Status lower_quantized(Lowering& lowering, const Node& node) {
  return lower_to(blocked_q_linear_conv, QConvInputs::kResidual, has_few_channels(lowering, node),
                  lowering, node);
}

}  // namespace

std::span<const LoweringRule> conv_rules() {
  // In order of preference for each operator.
  static const LoweringRule kRules[] = {
      {&ops::conv, fits_conv, lower_conv},
      {&ops::fused_conv, fits_scaled_conv, lower_scaled_conv},
      {&ops::fused_conv, fits_conv, lower_conv},
      {&ops::conv, fits_few_channels, lower_few_channels},
      {&ops::fused_conv, fits_few_channels, lower_few_channels},
      {&ops::conv_transpose, fits_turned, lower_turned},
      {&ops::fused_conv_transpose, fits_turned, lower_turned},
      {&ops::conv_transpose, fits_conv_transpose, lower_conv_transpose},
      {&ops::fused_conv_transpose, fits_conv_transpose, lower_conv_transpose},
      {&ops::conv_weights_backward, fits_weights_backward, lower_weights_backward},
      {&ops::conv_weights_backward, always, expand},
      {&ops::q_linear_conv, fits_quantized, lower_quantized},
      {&ops::fused_q_linear_conv, fits_quantized, lower_quantized},
  };
  return kRules;
}

}  // namespace shoal::cpu
