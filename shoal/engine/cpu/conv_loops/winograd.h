// Winograd's minimal filtering for windows of r x r and stride 1: an output tile of m x m pixels
// costs (m + r - 1)^2 products per pair of channels instead of r^2 m^2. Images, filters and results
// go through small linear transforms, all of them in the blocked layout (blocked.h): one pixel is
// one vector.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/conv_loops/finish.h"

namespace shoal::cpu {

// REQUIRES: r is 3 and m is 2, 4 or 6; or r is 5 and m is 2 or 4.
struct WinogradSize {
  int m = 0;  // pixels of the output along each axis
  int r = 0;  // of the window
  int edge() const { return m + r - 1; }
  int points() const { return edge() * edge(); }
};

// A tile of edge() x edge() pixels of one block of channels.
struct WinogradInput {
  const float* x = nullptr;  // the block
  int64_t offset = 0;        // of the first pixel; negative if it lies in the padding
  int64_t row_stride = 0;    // floats
  // Rows and columns of the tile that lie in the image; the others are zero.
  int row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

// Element i of the transformed tile, points() of them, goes to v + i * stride. It depends on edge()
// only.
void winograd_input(const WinogradSize& size, const WinogradInput& input, float* v, int64_t stride);

// m x m pixels of one block of output channels.
struct WinogradOutput {
  float* y = nullptr;             // of the first pixel
  const float* addend = nullptr;  // laid out as y; null: none
  int64_t row_stride = 0;         // floats
  int rows = 0, columns = 0;      // that the image has of the tile
  const float* bias = nullptr;    // [b]
  Finish finish;
};

// Element i of the tile is at z + i * stride.
void winograd_output(const WinogradSize& size, const float* z, int64_t stride,
                     const WinogradOutput& output);

// Filters of b output channels for one input channel: g is [r * r][b], element i goes to
// u + i * stride.
void winograd_filters(const WinogradSize& size, const float* g, float* u, int64_t stride);

}  // namespace shoal::cpu
