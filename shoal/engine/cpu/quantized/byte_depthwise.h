// Depthwise convolutions of bytes over one block of channels (blocked.h), along one row of pixels.
// The image is a copy with its padding around it (direct_rows.h), as u8.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/quantized/requantize.h"

namespace shoal::cpu {

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

}  // namespace shoal::cpu
