// The blocked layout (NCHWc), in which the CPU computes convolutions, and the operators that only
// the CPU has. [n, c, h, w] becomes [n, ceil(c / b), h, w, b], where b is the number of floats in a
// vector register: the b channels of one pixel are one load. Channels that pad the last block have
// arbitrary finite elements, and their weights are zero or absent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

// Weights [m, c, h, w] as [c, m, h, w], with every filter rotated by 180 degrees, per group: a
// ConvTranspose of stride 1 is a Conv with these.
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

// Operators of the blocked layout (blocked.h) that only training needs.

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

// Quantised operators in the blocked layout (blocked.h), which only the CPU has.

// FusedQLinearConv with image, residual and result in blocks of `block` channels. An image of a few
// channels may come in the plain layout, in four axes.
extern const Operator blocked_q_linear_conv;

// QLinearGlobalAveragePool of a blocked image with `channels` channels. The result is plain: it has
// one pixel, and the layers that follow take it as a row.
extern const Operator blocked_q_linear_global_average_pool;

struct QConvInputs {
  enum : size_t {
    kX,
    kXScale,
    kXZeroPoint,
    kW,
    kWScale,
    kWZeroPoint,
    kYScale,
    kYZeroPoint,
    kBias,
    kResidual,
    kResidualScale,
    kResidualZeroPoint,
    kSumScale,
    kSumZeroPoint,
  };
};

// Tiles of operators of the blocked layout (Operator::split), which are of all channels.

// The images, rows and columns of a region, axes 0, 2 and 3, with all of the other axes of `shape`.
Region of_all_channels(const Region& region, const Shape& shape);

// The tile of an operator that computes a pixel from the same pixel of its inputs; nullopt if the
// region does not have all channels.
std::optional<Tile> split_pixels(const Node& node, std::span<const Operand> inputs,
                                 const Region& output);

}  // namespace shoal::cpu
