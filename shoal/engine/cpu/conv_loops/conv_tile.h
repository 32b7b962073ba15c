// The innermost loop of convolutions in the blocked layout (NCHWc, blocked.h): a few pixels of a
// row by a few blocks of output channels are accumulated in registers over all taps and input
// channels. Products in the Winograd domain are the same loop with one tap.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "shoal/engine/cpu/conv_loops/finish.h"

namespace shoal::cpu {

// Channels in a block: the number of floats in a vector of the instruction set in use.
int64_t block_size();

// Register block: `pixels` x `blocks` accumulators fill the registers. Tiles of fewer blocks exist
// too, for the last output channels.
struct TileSize {
  int64_t pixels = 0;
  int64_t blocks = 0;
};
inline constexpr int64_t kMostTileBlocks = 4;
std::span<const TileSize> tile_sizes();  // the last is of one pixel, which fits everywhere

// The size with the lowest estimated time for `length` pixels in a row by `blocks` blocks of
// channels. REQUIRES: length > 0, blocks > 0, and a size of one pixel.
TileSize choose_tile(std::span<const TileSize> sizes, int64_t length, int64_t blocks);

// Blocks of output channels. A last block of so few channels that half a vector holds them is
// narrow, where tiles that compute only that half take less time.
struct OutBlocks {
  int64_t whole = 0, narrow = 0;
};
OutBlocks out_blocks_of(int64_t channels);

// Addresses and strides of one tile, in floats. Input channels come in blocks of `full_channels`;
// the last block has `last_channels`.
struct ConvTile {
  const float* x = nullptr;   // of the first pixel and tap
  int64_t x_block = 0;        // from one block of input channels to the next
  int64_t x_row = 0;          // from one row of taps to the next
  int64_t x_column = 0;       // from one tap to the next
  int64_t in_blocks = 0;      // blocks of input channels
  int64_t last_channels = 0;  // channels in the last of them
  int64_t full_channels = 0;  // channels in the others
  int64_t tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // a panel of filter_panels.h
  const float* bias = nullptr;    // [out_blocks][b]; null: none
  int64_t out_blocks = 0;         // of the tile
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;
  int64_t y_block = 0;  // from one block of output channels to the next
  int64_t y_pixel = 0;  // from one pixel to the next
  Finish finish;        // of out_blocks
};

// Computes a tile. `step` is the distance in floats from one pixel of x to the next, and is also
// passed to the function: some steps are compiled in.
using ConvTileFunction = void (*)(const ConvTile& tile, int64_t step);

// Functions of all tiles of so many pixels in a row.
struct ConvTileFunctions {
  std::array<ConvTileFunction, kMostTileBlocks + 1> whole{};  // by blocks
  ConvTileFunction narrow = nullptr;                          // of a narrow block
};
// REQUIRES: one of tile_sizes() has so many pixels.
ConvTileFunctions conv_tile_functions(int64_t pixels, int64_t step);

}  // namespace shoal::cpu
