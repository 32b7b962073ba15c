// The blocked layout (NCHWc), in which the CPU computes convolutions, and the operators that only
// the CPU has. [n, c, h, w] becomes [n, ceil(c / b), h, w, b], where b is the number of floats in a
// vector register: the b channels of one pixel are one load. Channels that fill up the last block
// have finite elements of no meaning, and weights that would meet them are zero or absent.
#pragma once

#include <cstdint>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/conv/conv.h"

namespace shoal::cpu {

extern const Operator block_channels;    // `block` is b
extern const Operator unblock_channels;  // `channels` is c

// FusedConv with image, residual and result in blocks of `block` channels. The weights are those of
// FusedConv. An image of a few channels may come in the plain layout, in four axes. In place of an
// activation, inputs kLow and kHigh may bound the result, each by one element per channel.
extern const Operator blocked_conv;
inline constexpr size_t kLow = 4, kHigh = 5;

// FusedConv with only the image in blocks, for a few output channels that would not fill a block.
extern const Operator unblocking_conv;

// FusedConvTranspose in the same way; its image is always blocked.
extern const Operator blocked_conv_transpose;

// Weights [m, c, h, w] as [c, m, h, w], with every filter turned by 180 degrees. A ConvTranspose of
// stride 1 is a Conv with these. With `group`, each group by itself.
extern const Operator turn_filters;

// InstanceNormalization of a blocked image; scale and bias have one element per channel.
extern const Operator blocked_instance_normalization;

// Shape of a plain tensor [n, c, h, w] in blocks. REQUIRES: four axes, block > 0.
Shape blocked_shape(const Shape& plain, int64_t block);
// Copy of a blocked tensor in the plain layout; x itself if it has that shape or is undefined.
Tensor unblocked(const Tensor& x, const Shape& plain);

// Geometry of a BlockedConv node, in terms of FusedConv. REQUIRES: infer() has accepted the node.
ops::Convolution blocked_convolution_of(const Node& node, const Shape& x, const Shape& w);

// Geometry of the convolution from y to x that a BlockedConvTranspose node runs backwards
// (model/ops/conv/conv.h). REQUIRES: infer() has accepted the node.
ops::Convolution blocked_transposed_convolution_of(const Node& node, const Shape& x,
                                                   const Shape& w);

}  // namespace shoal::cpu
