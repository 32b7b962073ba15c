// Warping: features of one frame moved to where they belong in another [Mao 2019].
//
//   out(c, y, x) = in(c, y + dy, x + dx)    bilinear between pixels, zero outside
#pragma once

#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/flow.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// Features f32 [n, c, h, w], or in the blocked layout [n, c / b, h, w, b], moved by the flow of
// their plane. REQUIRES: the flow has their height and width.
Tensor warp(const Tensor& features, const PlaneFlow& flow);

// The same by a flow of the image that they were computed from.
Tensor warp(const Tensor& features, const Flow& flow);

}  // namespace shoal::keyframe

#pragma GCC visibility pop
