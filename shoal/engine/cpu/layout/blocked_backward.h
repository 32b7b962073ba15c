// Operators of the blocked layout (blocked.h) that only training needs.
#pragma once

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/conv/conv.h"

namespace shoal::cpu {

// ConvWeightsBackward with the `out` channels of dy in blocks. The `in` channels of the image are
// in blocks too, or a few of them plain, in four axes. There is one group, or one per channel.
// Results are plain.
extern const Operator blocked_conv_weights_backward;

// BatchNormalization in training mode, of a blocked image. All other tensors have one element per
// channel.
extern const Operator blocked_batch_normalization;

// BatchNormalizationBackward of a blocked image and a blocked dy.
extern const Operator blocked_batch_normalization_backward;

// Geometry of the convolution whose weights get the gradient, w. REQUIRES: infer() has accepted the
// node.
ops::Convolution blocked_convolution_behind(const Node& node, const Shape& x, const Shape& w);

}  // namespace shoal::cpu
