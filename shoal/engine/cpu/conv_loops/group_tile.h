// The innermost loop of grouped convolutions with a few channels per group, as many in as out,
// several groups to a block (blocked.h). The lanes of a pixel are permuted so that each lane meets
// the channels of its own group: as many products as a group has channels, and none with the zeros
// of a block-diagonal weight matrix.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/conv_loops/finish.h"

namespace shoal::cpu {

// Addresses and strides of one tile, some pixels in a row of one block, in floats.
struct GroupTile {
  const float* x = nullptr;  // of the first pixel and tap
  int64_t x_pixel = 0;       // from one pixel to the next
  int64_t x_row = 0;         // from one row of taps to the next
  int64_t x_column = 0;      // from one tap to the next
  int64_t tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // [tap_rows][tap_columns][channels of a group][b]
  const float* bias = nullptr;    // [b]
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;             // pixels are side by side
  Finish finish;
};

// A tile of `pixels` in a row. `run` is null if a block does not hold several groups of that size.
struct GroupTileFunction {
  int64_t pixels = 0;
  void (*run)(const GroupTile& tile) = nullptr;
};

// The largest tile for groups of `channels` and rows of at least `length` pixels.
GroupTileFunction group_tile_function(int64_t channels, int64_t length);

}  // namespace shoal::cpu
