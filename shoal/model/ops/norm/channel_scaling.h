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

// The scaling of a BatchNormalization in inference, or of a Conv with one weight per channel, as
// int8 models write standalone norms (shrink/compress/quantization/quantize.cc). Channels are on
// axis 1. nullopt for other nodes and parameters that are not constant.
std::optional<ChannelScaling> channel_scaling_of(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
