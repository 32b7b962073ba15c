#include "shoal/model/ops/norm/channel_scaling.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/conv/conv.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

bool has_constants(std::span<const Operand> inputs) {
  return std::ranges::all_of(inputs.subspan(1), [](const Operand& input) {
    return !input.given || (input.value != nullptr && Floats::contains(input.type.dtype));
  });
}

ChannelScaling scaling_of_norm(const Node& node, std::span<const Operand> inputs) {
  const std::vector<double> gamma = doubles_of(*inputs[1].value),
                            beta = doubles_of(*inputs[2].value),
                            mean = doubles_of(*inputs[3].value),
                            variance = doubles_of(*inputs[4].value);
  const double epsilon = node.real("epsilon", 1e-5F);
  ChannelScaling scaling;
  for (size_t c = 0; c < gamma.size(); ++c) {
    scaling.scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    scaling.shift.push_back(beta[c] - mean[c] * scaling.scale[c]);
  }
  return scaling;
}

// Every element of y is an element of x at the same place times the weight of its channel.
bool is_scaling(const Node& conv, const Shape& x, const Shape& w) {
  const Convolution convolution = convolution_of(conv, x, w);
  const auto stays = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.input == axis.output;
  };
  return convolution.in_channels == 1 && convolution.out_channels == 1 &&
         std::ranges::all_of(convolution.window.axes, stays);
}

}  // namespace

std::optional<ChannelScaling> channel_scaling_of(const Node& node,
                                                 std::span<const Operand> inputs) {
  const bool is_norm = node.op == &batch_normalization && node.integer("training_mode", 0) == 0;
  if ((!is_norm && node.op != &conv) || !has_constants(inputs)) return std::nullopt;
  if (is_norm) return scaling_of_norm(node, inputs);
  if (!is_scaling(node, inputs[0].type.shape, inputs[1].type.shape)) return std::nullopt;
  ChannelScaling scaling{.scale = doubles_of(*inputs[1].value), .shift = {}};
  const bool has_bias = inputs.size() > 2 && inputs[2].given;
  scaling.shift =
      has_bias ? doubles_of(*inputs[2].value) : std::vector<double>(scaling.scale.size(), 0);
  return scaling;
}

}  // namespace shoal::ops
