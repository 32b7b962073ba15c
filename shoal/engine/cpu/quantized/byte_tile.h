// The innermost loop of convolutions of bytes in the blocked layout (blocked.h): a few pixels of a
// row by a few blocks of output channels, accumulated in 32 bits over all taps and input channels.
// Four input channels are read at once, as dot-product instructions do, or twice four.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/engine/cpu/conv_loops/conv_tile.h"
#include "shoal/engine/cpu/quantized/requantize.h"

namespace shoal::cpu {

inline constexpr int64_t kGroup = 4;  // channels read at once

// How products are accumulated.
enum class ByteDot : uint8_t {
  kPairs,   // four, as pairs of 16 bits; available everywhere
  kQuads,   // four, by one dot-product instruction
  kOctets,  // eight, of two pixels by two output channels: one instruction of ARM's i8mm
};

// Addresses and strides of one tile, in bytes. Images are u8.
struct ByteTile {
  const uint8_t* x = nullptr;  // of the first pixel and tap
  int64_t x_block = 0;         // from one block of input channels to the next
  int64_t x_row = 0;           // from one row of taps to the next
  int64_t x_column = 0;        // from one tap to the next
  int64_t in_blocks = 0;       // blocks of input channels
  int64_t full_groups = 0;     // groups of four channels in a block
  int64_t last_groups = 0;     // groups in the last block
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

// Tiles of the instruction set in use for one kind of dot product; no sizes if it has none.
struct ByteTiles {
  std::span<const TileSize> sizes;  // the last is of one pixel, which fits everywhere
  ByteTileFunction (*function)(TileSize size, int64_t step) = nullptr;
  int32_t pixel_offset = 0;    // subtracted from the bytes of the image before the product
  int64_t group = kGroup;      // input channels that are multiplied at once
  bool channels_first = true;  // weights of a group: [output channel][group], or turned
};
ByteTiles byte_tiles(ByteDot dot);

}  // namespace shoal::cpu
