// The innermost loop of convolutions from blocked channels (blocked.h) to a few plain ones. Lanes
// are input channels: a register accumulates one pixel of one output channel, and its lanes are
// added at the end. With lanes as output channels, most of a vector would be padding.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Addresses and strides of one tile, in floats.
struct DotTile {
  const float* x = nullptr;  // of the first pixel and tap
  int64_t x_pixel = 0;       // from one pixel to the next
  int64_t x_block = 0;       // from one block of input channels to the next
  int64_t x_row = 0;         // from one row of taps to the next
  int64_t x_column = 0;      // from one tap to the next
  int64_t in_blocks = 0, tap_rows = 1, tap_columns = 1;

  const float* w = nullptr;       // [in_blocks][tap_rows][tap_columns][channels][b]
  const float* bias = nullptr;    // [channels]
  const float* addend = nullptr;  // laid out as y; null: none
  float* y = nullptr;
  int64_t y_channel = 0;  // from one output channel to the next; pixels are side by side
  float low = 0, high = 0;
};

// A tile of `pixels` in a row by all output channels. `run` is null if there are too many channels.
struct DotTileFunction {
  int64_t pixels = 0;
  void (*run)(const DotTile& tile) = nullptr;
};

// The largest tile for rows of at least `length` pixels.
DotTileFunction dot_tile_function(int64_t channels, int64_t length);

}  // namespace shoal::cpu
