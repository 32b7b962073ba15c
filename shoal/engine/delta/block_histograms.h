// BlockHistograms: DeepMon's criterion for what changed in an image [Huynh 2017]. The image is cut
// into blocks; a block has changed if its histogram has, or if it was last taken too long ago:
//   h_k(b, c) = share of the pixels of channel c of block b in bin k
//   d(b)      = mean over c of sum over k of (h_k - h'_k)^2 / (h_k + h'_k)
//   changed   = d(b) >= most, or age(b) > ttl
//
// A histogram misses motion inside a block, unless means over parts of the block are compared, too.
// If h' is the histogram of the last image, slow changes pass until the ttl; it can be that of the
// image from which the block was last taken instead. Both remedies are options; differences
// (delta_device.h) need neither.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "shoal/engine/delta/changes.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

// Bins of histograms, by vectors.

// Bins of equal width, from `low` on. Values outside go to the first or the last bin.
struct Bins {
  float low = 0, scale = 1;  // the inverse of the width
  int64_t count = 1;         // at most 256
};

// The bin of each element; a NaN falls into the first. REQUIRES: both have the same size.
void bins_of(std::span<const float> elements, const Bins& bins, std::span<uint8_t> to);

// Adds the number of elements of `from` in each bin. REQUIRES: all are below counts.size().
void count_bins(std::span<const uint8_t> from, std::span<uint32_t> counts);

// Of the blocks of images of one shape. A value.
class BlockHistograms {
 public:
  // REQUIRES: 1 <= bins <= 256, and side > 0.
  explicit BlockHistograms(const HistogramOptions& options);

  // Takes the changed blocks of an image, f32 [n, c, h, w], and returns them: all blocks for the
  // first image, and for one of another shape.
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
  // Buffers for the current image: the bin of each element, those of a block, their counts, and the
  // block itself.
  std::vector<uint8_t> bins_, in_block_;
  std::vector<uint32_t> counts_;
  Block now_;
};

// The grid of an image of this shape with `side` blocks along each side.
Grid blocks_of(const Shape& shape, int64_t side);

// d as defined at the top, or a value of at least `enough` if d is. REQUIRES: both have
// [channel][bin], and bins > 0.
double distance(const std::vector<float>& a, const std::vector<float>& b, int64_t bins,
                double enough = std::numeric_limits<double>::infinity());

}  // namespace shoal::delta
