// Flow: where the blocks of an image were in an earlier one, by block matching on brightness.
//
// For a block B of 16 x 16 pixels, the vector d is looked for with the least
//
//   sum over p in B of |now(p) - then(p + d)| + price(min(|d|, |d - left|, |d - above|))
//
// the sum of absolute differences, and a price for differing from 0 and from neighbouring blocks,
// so that noise in flat areas does not move. The search goes from a quarter of the size to a half
// to the whole: first from the best of a few guesses by steps of 4, 2 and 1 pixels, then around the
// result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// Rows and columns of a block: a macroblock of H.264.
inline constexpr int64_t kBlock = 16;
// The smallest image in which blocks can be matched.
inline constexpr int64_t kLeastSide = 2 * kBlock;

// A plane of brightness. A value.
struct Plane {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels = {};  // by rows

  // A row of it.
  const uint8_t* row(int64_t y) const { return pixels.data() + y * width; }
};

// An image to be matched: the plane, and those of a half and of a quarter of its size. A value.
struct Luma {
  std::vector<Plane> levels = {};  // the whole one first

  // REQUIRES: `levels` is not empty.
  const Plane& whole() const { return levels.front(); }
};

// The brightness of an image, u8 [h, w, 3]. kInvalidArgument for another tensor, and for one with a
// side below kLeastSide.
Result<Luma> luma_of(const Tensor& image);

// Elements of an input that are black and white.
struct GreyRange {
  float black = 0, white = 1;
};

// The least and the largest element. REQUIRES: f32, not empty.
GreyRange range_of(const Tensor& input);

// The brightness of a network's input, f32 [1, c, h, w]: the mean of its channels. Flow is then in
// pixels of that input. Fails as above.
Result<Luma> luma_of(const Tensor& input, const GreyRange& range);

// In pixels.
struct Vector {
  float x = 0, y = 0;

  friend bool operator==(const Vector&, const Vector&) = default;
};

// A vector for each block of an image: what is at p now was at p + vector then. A value.
struct Flow {
  int64_t height = 0, width = 0;     // of the image
  int64_t rows = 0, columns = 0;     // of blocks; those at the end may be smaller
  std::vector<Vector> vectors = {};  // by rows
  double residual = 0;               // mean absolute difference that is left, in levels of 255

  // The mean length of the vectors, in pixels: how far the image has moved.
  double mean_length() const;
};

// No motion, in an image of this size.
Flow no_flow(int64_t height, int64_t width);

// From `then` to `now`; `guess` is a flow that may be near, as that of the frame before, or null.
// REQUIRES: both have the same size, and so has the guess.
Flow estimate_flow(const Luma& then, const Luma& now, const Flow* guess = nullptr);

// The flow over two steps: v = later(p) leads to p + v in the frame between, and p + v + earlier(p
// + v) in the first. REQUIRES: both are of images of one size.
Flow composed(const Flow& earlier, const Flow& later);

// The flow of an image that was scaled and moved into another one: x' = x scale + shift. Beside it
// nothing moves. REQUIRES: sizes and scales are positive.
struct FlowPlacement {
  float scale_x = 1, scale_y = 1, shift_x = 0, shift_y = 0;
};
Flow placed(const Flow& flow, int64_t height, int64_t width, const FlowPlacement& at);

// The flow in a plane of features: per pixel the mean over the blocks it covers, in pixels of the
// plane. A value.
struct PlaneFlow {
  int64_t height = 0, width = 0;
  std::vector<Vector> vectors = {};  // by rows
};

// See above. REQUIRES: height and width are positive.
PlaneFlow resample(const Flow& flow, int64_t height, int64_t width);

// Warping: features of one frame moved to where they belong in another [Mao 2019].
//
//   out(c, y, x) = in(c, y + dy, x + dx)    bilinear between pixels, zero outside

// Features f32 [n, c, h, w], or in the blocked layout [n, c / b, h, w, b], moved by the flow of
// their plane. REQUIRES: the flow has their height and width.
Tensor warp(const Tensor& features, const PlaneFlow& flow);

// The same by a flow of the image that they were computed from.
Tensor warp(const Tensor& features, const Flow& flow);

}  // namespace shoal::keyframe

#pragma GCC visibility pop
