// Channels in blocks: the layout in which the CPU computes convolutions, and the operators that
// only it knows. [n, c, h, w] becomes [n, ceil(c / b), h, w, b], where b is the number of floats in
// a vector register: the b channels of one pixel are one load. Channels that fill up the last
// block have finite elements of no meaning; the weights that would meet them are not there.
#pragma once

#include <cstdint>

#include "shoal/graph/graph.h"
#include "shoal/ops/nn/conv.h"

namespace shoal::cpu {

extern const Operator block_channels;    // `block` is b
extern const Operator unblock_channels;  // `channels` is c

// FusedConv whose image and result have their channels in blocks of `block`, and the residual too.
// The weights are as in FusedConv. An image of a few channels may come as it is, in four axes.
extern const Operator blocked_conv;

// FusedConv whose image alone is blocked: for a few output channels, which would not fill a block.
extern const Operator unblocking_conv;

// FusedConvTranspose as BlockedConv is to FusedConv; its image is always blocked.
extern const Operator blocked_conv_transpose;

// Weights [m, c, h, w] as [c, m, h, w], every filter turned by 180 degrees: what makes a Conv of a
// ConvTranspose of stride 1. With `group`, those of each group.
extern const Operator turn_filters;

// InstanceNormalization of a blocked image; scale and bias have one element per channel.
extern const Operator blocked_instance_normalization;

Shape blocked_shape(const Shape& plain, int64_t block);
Tensor unblocked(const Tensor& x, const Shape& plain);  // x itself if it has that shape

// The convolution that a BlockedConv node does, in terms of FusedConv.
ops::Convolution blocked_convolution_of(const Node& node, const Shape& x, const Shape& w);

// The one from y to x that a BlockedConvTranspose node runs backwards (ops/nn/conv.h).
ops::Convolution blocked_transposed_convolution_of(const Node& node, const Shape& x,
                                                   const Shape& w);

}  // namespace shoal::cpu
