// What training alone asks of channels in blocks (blocked.h), as operators that only the CPU knows.
#pragma once

#include "shoal/graph/graph.h"
#include "shoal/ops/nn/conv.h"

namespace shoal::cpu {

// ConvWeightsBackward whose dy has its `out` channels in blocks. The image has its `in` channels in
// blocks, too, or few of them as they are, in four axes. There is one group, or one for each
// channel. Its results are plain.
extern const Operator blocked_conv_weights_backward;

// BatchNormalization as it trains, of a blocked image; all else has one element per channel.
extern const Operator blocked_batch_normalization;

// BatchNormalizationBackward of a blocked image and a blocked dy.
extern const Operator blocked_batch_normalization_backward;

// The convolution whose weights those are.
ops::Convolution blocked_convolution_behind(const Node& node, const Shape& x, const Shape& w);

}  // namespace shoal::cpu
