// BlockHistograms: DeepMon's criterion for what changed in an image [Huynh 2017]. The image is cut
// into blocks; a block has changed if its histogram has, or if it was last taken too long ago:
//   h_k(b, c) = share of the pixels of channel c of block b in bin k
//   d(b)      = mean over c of sum over k of (h_k - h'_k)^2 / (h_k + h'_k)
//   changed   = d(b) >= most, or age(b) > ttl
//
// A histogram does not know where a pixel is: what moves inside a block is missed, unless means
// over parts of the block are compared, too. And h' is the histogram of the last image, so that
// slow changes pass until their time is over, unless it is that of the image from which the block
// was last taken. Both remedies are options; differences (delta_device.h) need neither.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/delta/tile_mask.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// Of the blocks of images of one shape. A value.
class BlockHistograms {
 public:
  // REQUIRES: 1 <= bins <= 256, and side > 0.
  explicit BlockHistograms(const HistogramOptions& options);

  // The blocks of an image that are to be taken, f32 [n, c, h, w], and takes them. All of the first
  // one, and of one of another shape.
  TileMask update(const Tensor& image, double now_ms);

 private:
  struct Block {
    std::vector<float> shares = {};  // [channel][bin]
    std::vector<float> means = {};   // [channel][part], if they are compared
    double taken_ms = 0;
  };

  void describe(const Tensor& image, const cpu::Rectangle& where, Block& block);
  void add_means(const float* line, int64_t row, const cpu::Rectangle& where, float share,
                 int64_t channel, Block& block) const;
  bool has_changed(const Block& old, const Block& now, double now_ms) const;

  HistogramOptions options_;
  Shape shape_;
  float low_ = 0, high_ = 1;  // range of the bins
  std::vector<Block> blocks_;
  // Of the image that is looked at: the bin of each element, those of a block, how many there are
  // of each, and the block itself. Kept for their memory.
  std::vector<uint8_t> bins_, in_block_;
  std::vector<uint32_t> counts_;
  Block now_;
};

// The grid of an image of this shape with so many blocks along each side.
Grid blocks_of(const Shape& shape, int64_t side);

// d of the head of this file, or where it is more than enough, something else that is. REQUIRES:
// both have [channel][bin], and bins > 0.
double distance(const std::vector<float>& a, const std::vector<float>& b, int64_t bins,
                double enough = std::numeric_limits<double>::infinity());

}  // namespace shoal::delta
