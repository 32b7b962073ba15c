// The innermost loop of convolutions over blocked channels (blocked.h): a few pixels of a row by a
// few blocks of output channels, summed up in registers over all taps and input channels. Products
// in Winograd's domain are the same loop with one tap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "shoal/base/thread_pool.h"
#include "shoal/cpu/aligned.h"

namespace shoal::cpu {

int64_t block_size();  // channels in a block: floats in a vector of the instruction set in use

// `pixels` x `blocks` sums fill the registers. Tiles of fewer blocks exist too.
struct TileSize {
  int64_t pixels = 0;
  int64_t blocks = 0;
};
inline constexpr int64_t kMostTileBlocks = 4;
std::span<const TileSize> tile_sizes();  // the last is of one pixel, which fits everywhere

// The tile of these sizes that computes `length` pixels in a row by `blocks` blocks of channels
// soonest.
TileSize choose_tile(std::span<const TileSize> sizes, int64_t length, int64_t blocks);

// Where one tile reads and writes. Offsets are in floats.
struct ConvTile {
  const float* x = nullptr;   // of the first pixel and tap
  int64_t x_block = 0;        // from one block of input channels to the next
  int64_t x_row = 0;          // from one row of taps to the next
  int64_t x_column = 0;       // from one tap to the next
  int64_t in_blocks = 0;      // of input channels; how many
  int64_t last_channels = 0;  // the last of them has, and
  int64_t full_channels = 0;  // the others
  int64_t tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // FilterPanels of this tile's blocks
  const float* bias = nullptr;    // [out_blocks][b]; null: none
  int64_t out_blocks = 0;         // of the tile
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;
  int64_t y_block = 0;  // from one block of output channels to the next
  int64_t y_pixel = 0;  // from one pixel to the next
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};

// Computes a tile of `size`; pixels of x are `step` floats apart.
using ConvTileFunction = void (*)(const ConvTile& tile, int64_t step);
ConvTileFunction conv_tile_function(TileSize size, int64_t step);

// Weights in the order in which tiles read them: by panel of `panel_blocks` blocks of output
// channels (the last may have fewer), input channel block, tap, input channel.
class FilterPanels {
 public:
  // Input channels are read `together` at a time. w(m, c, tap) gives the weights; it is asked for
  // m < out and c < in only.
  template <class W>
  FilterPanels(int64_t out, int64_t in, int64_t together, int64_t taps, int64_t panel_blocks,
               ThreadPool& pool, const W& w);

  int64_t panels() const { return (blocks_ + panel_blocks_ - 1) / panel_blocks_; }
  int64_t blocks_of(int64_t panel) const {
    return std::min(panel_blocks_, blocks_ - panel * panel_blocks_);
  }
  int64_t first_block(int64_t panel) const { return panel * panel_blocks_; }
  const float* panel(int64_t i) const { return floats_.data() + i * panel_blocks_ * block_floats_; }

 private:
  int64_t block_, blocks_, panel_blocks_;
  int64_t block_floats_;  // that one block of output channels takes
  AlignedFloats floats_;
};

template <class W>
FilterPanels::FilterPanels(int64_t out, int64_t in, int64_t together, int64_t taps,
                           int64_t panel_blocks, ThreadPool& pool, const W& w)
    : block_(block_size()),
      blocks_((out + block_ - 1) / block_),
      panel_blocks_(panel_blocks),
      block_floats_(in * taps * block_),
      floats_(blocks_ * block_floats_) {
  pool.parallel_ranges(panels(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* to = floats_.data() + i * panel_blocks_ * block_floats_;
      const int64_t first = first_block(i) * block_, width = blocks_of(i) * block_;
      for (int64_t c0 = 0; c0 < in; c0 += together) {
        const int64_t c1 = std::min(c0 + together, in);
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t c = c0; c < c1; ++c, to += width) {
            for (int64_t m = 0; m < width; ++m) to[m] = first + m < out ? w(first + m, c, tap) : 0;
          }
        }
      }
    }
  });
}

}  // namespace shoal::cpu
