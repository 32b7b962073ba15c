// Nodes that scale and shift each channel by constants.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/model/graph/operator.h"

namespace shoal::ops {

// y = scale x + shift, one element per channel.
struct ChannelScaling {
  std::vector<double> scale, shift;
};

// What a BatchNormalization in inference does to its first input, or a Conv of one weight per
// channel, as which int8 writes norms that stand alone
// (shrink/compress/quantization/quantize.cc). Channels are on axis 1. Nothing for other
// nodes, and where parameters are not constant.
std::optional<ChannelScaling> channel_scaling_of(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
