// The innermost loop of convolutions of bytes over blocked channels (blocked.h): a few pixels of a
// row by a few blocks of output channels, summed up in 32 bits over all taps and input channels.
// Four input channels are read at once, as the dot products of instruction sets do.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/cpu/conv/conv_tile.h"
#include "shoal/cpu/quantized/requantize.h"

namespace shoal::cpu {

inline constexpr int64_t kGroup = 4;  // channels read at once

// How four products are summed up.
enum class ByteDot : uint8_t {
  kPairs,  // as pairs of 16 bits; every instruction set can
  kQuads,  // by one instruction for all four
};

// Where one tile reads and writes. Offsets are in bytes; images are u8.
struct ByteTile {
  const uint8_t* x = nullptr;  // of the first pixel and tap
  int64_t x_block = 0;         // from one block of input channels to the next
  int64_t x_row = 0;           // from one row of taps to the next
  int64_t x_column = 0;        // from one tap to the next
  int64_t in_blocks = 0;       // of input channels; how many
  int64_t full_groups = 0;     // of four channels a block has, and
  int64_t last_groups = 0;     // the last one
  int64_t tap_rows = 1, tap_columns = 1;

  const int8_t* w = nullptr;          // ByteFilters of this tile's blocks
  const int32_t* bias = nullptr;      // [out_blocks][b]
  const float* scale = nullptr;       // [out_blocks][b]
  int64_t out_blocks = 0;             // of the tile
  const uint8_t* residual = nullptr;  // laid out as y; null: none
  uint8_t* y = nullptr;
  int64_t y_block = 0;  // from one block of output channels to the next; pixels are side by side
  Requantize finish;
};

// Computes a tile; pixels of x are `step` bytes apart.
using ByteTileFunction = void (*)(const ByteTile& tile, int64_t step);

// What the instruction set in use offers for one of the ways; no sizes where it has none.
struct ByteTiles {
  std::span<const TileSize> sizes;  // the last is of one pixel, which fits everywhere
  ByteTileFunction (*function)(TileSize size, int64_t step) = nullptr;
  int32_t pixel_offset = 0;    // is taken off the bytes of the image before they are multiplied
  bool channels_first = true;  // of a group of weights: [output channel][4], or the other way
};
ByteTiles byte_tiles(ByteDot dot);

}  // namespace shoal::cpu
