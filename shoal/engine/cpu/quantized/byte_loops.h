// Element-wise loops of quantised operators over vectors of the instruction set in use. Bytes are
// u8, or i8 with `flip` 0x80, which turns them into u8 and adds 128 to their zero point.
// Thread-safe.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/window.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::cpu {

// Quantised tensors as kernels see them: u8. Flipping the sign bit (0x80) of an i8 gives the u8
// that is larger by 128; its zero point grows by 128 as well.
inline uint8_t flip_of(DType dtype) { return dtype == DType::kI8 ? 0x80 : 0; }

inline const uint8_t* bytes_of(const Tensor& tensor) {
  return reinterpret_cast<const uint8_t*>(tensor.bytes().data());
}
inline uint8_t* bytes_of(Tensor& tensor) {
  return reinterpret_cast<uint8_t*>(tensor.bytes().data());
}

// Requantisation: the epilogue of quantised operators, from 32-bit sums back to bytes.

// y = clamp(round(real) + zero_point) for a real number in units of the result's scale.
struct Rounding {
  Rounding() = default;
  Rounding(const ops::Bounds& bounds, int32_t zero, DType dtype)
      : low(static_cast<float>(bounds.low - zero)),
        high(static_cast<float>(bounds.high - zero)),
        zero_point(zero + flip_of(dtype)),
        low_byte(static_cast<uint8_t>(bounds.low + flip_of(dtype))),
        high_byte(static_cast<uint8_t>(bounds.high + flip_of(dtype))),
        flip(flip_of(dtype)),
        is_plain(bounds == ops::bounds_of_type(DType::kU8)) {}

  float low = 0, high = 0;  // before the zero point is added
  // Zero point and bounds of the u8, before the flip back to i8.
  int32_t zero_point = 0;
  uint8_t low_byte = 0, high_byte = 0;
  uint8_t flip = 0;
  // Shortcuts: the bounds are those of u8, and rounded numbers fit into 32 bits.
  bool is_plain = false;
  bool fits = false;
};

// Epilogue of a sum: multiply by the channel's scale and round. With a residual, the sum of both is
// rounded a second time, as QLinearAdd does.
struct Requantize {
  Rounding own;
  float own_scale = 0;       // of the product, over that of the sum
  float residual_scale = 0;  // of the residual, over that of the sum
  int32_t residual_zero = 0;
  uint8_t residual_flip = 0;  // turns bytes of the residual into u8
  Rounding sum;
};

// One operand: real = scale * ((byte ^ flip) - zero_point).
struct ByteScale {
  float scale = 0;
  int32_t zero_point = 0;  // of the byte after the flip
  uint8_t flip = 0;
};

// quantize_bytes: y = round(x / scale) + zero point, clamped; a NaN gives 0. dequantize_bytes is
// the inverse.
void quantize_bytes(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n);
void dequantize_bytes(const uint8_t* x, const ByteScale& how, float* y, int64_t n);

// y = a + b. Scales of a and b are relative to that of y.
void add_bytes(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
               const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n);

// y = table[x], a table of 256 bytes. x and y may be the same.
void lookup_bytes(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n);

struct ByteCopier {
  uint8_t flip = 0;

  void copy(const uint8_t* from, int64_t n, uint8_t* to) const;
  // Up to four planes, four bytes to a pixel; those that no plane has are 0.
  void interleave(const uint8_t* from, int64_t plane, int64_t planes, int64_t pixels,
                  uint8_t* to) const;
};

// Pools over one block of channels of bytes (blocked.h). Bytes are u8, or i8 with `flip` 0x80,
// which turns them into u8 of the same order.

// Rows [begin, end) of one block of one image.
struct ByteRows {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const uint8_t* x = nullptr;  // the whole block: [rows][columns][b]
  uint8_t* y = nullptr;        // the whole block
  uint8_t flip = 0;
  int64_t begin = 0, end = 0;
};

void max_bytes(const ByteRows& rows);

// sums = sum of (byte ^ flip) - zero_point over `pixels` neighbours; sums are [b]. REQUIRES: pixels
// < 2^23, so that sums fit into 32 bits.
void sum_bytes(const uint8_t* x, uint8_t flip, int32_t zero_point, int64_t pixels, int32_t* sums);

// Depthwise convolutions of bytes over one block of channels (blocked.h), along one row of pixels.
// The image is a copy with its padding around it (direct_rows.h), as u8.

// One row of outputs. Offsets are in bytes.
struct ByteDepthwise {
  const uint8_t* x = nullptr;  // of the first pixel and tap
  int64_t x_row = 0;           // bytes from one row of taps to the next
  int64_t x_column = 0;        // bytes from one tap to the next
  int64_t step = 0;            // bytes from the taps of one pixel to those of the next
  int64_t tap_rows = 0, tap_columns = 0;

  const void* w = nullptr;            // in the form of DepthwiseFunction
  const int32_t* bias = nullptr;      // [b], less zero point times weights
  const float* scale = nullptr;       // [b]
  const uint8_t* residual = nullptr;  // laid out as y; null: none
  uint8_t* y = nullptr;
  int64_t pixels = 0;
  Requantize finish;
};

// A function, and the form of its weights for b channels:
//   floats: [row][column][b]
//   bytes:  [row][quad][output][b][4]. A quad is four neighbouring pixels. Each of `outputs`
//           neighbouring outputs that share a quad has its taps where it meets them, and zeros
//           elsewhere.
struct DepthwiseFunction {
  void (*convolve)(const ByteDepthwise& row) = nullptr;
  bool in_bytes = false;
  int64_t quads = 0, outputs = 1;
  int32_t pixel_offset = 0;  // subtracted from the bytes of the image before the product
};

// Bytes behind the last tap that may be read, and must be allocated.
inline constexpr int64_t kDepthwiseSlack = 256;

// Floats are exact up to 2^24, which limits the number of taps.
inline constexpr int64_t kMostExactTaps = (int64_t{1} << 24) / (int64_t{255} * 128);

// The fastest function for a row of `columns` taps with this stride and dilation.
DepthwiseFunction depthwise_function(int64_t columns, int64_t stride, int64_t dilation);

// The innermost loop of convolutions of bytes in the blocked layout (blocked.h): a few pixels of a
// row by a few blocks of output channels, accumulated in 32 bits over all taps and input channels.
// Four input channels are read at once, as dot-product instructions do, or twice four.
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

// Dot products of rows of bytes, for matrix products whose right factor is transposed, as the
// weights of fully connected layers are. Weights are read once, in place.

// Up to kMostRows rows of the left factor by rows of the right one. i8 comes from bytes ^ b_flip.
struct ByteDots {
  static constexpr int64_t kMostRows = 4;

  const uint8_t* a = nullptr;  // [rows][k], u8
  int64_t rows = 0;
  const uint8_t* b = nullptr;  // [columns][k], i8 once `b_flip` is flipped into it
  uint8_t b_flip = 0;
  int64_t k = 0;
  int32_t* sums = nullptr;  // [rows][sums_stride]
  int64_t sums_stride = 0;
  int32_t* b_sums = nullptr;  // [columns], of each row of b; null: not wanted
};

// Computes the columns [begin, end) of the sums. Thread-safe for disjoint columns. REQUIRES: 1 <=
// rows <= kMostRows.
void multiply_bytes(const ByteDots& dots, int64_t begin, int64_t end);

}  // namespace shoal::cpu
