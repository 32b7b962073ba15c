// Winograd's minimal filtering for 3x3 windows of stride 1: an output tile of m x m pixels costs (m
// + 2)^2 products per pair of channels instead of 9 m^2. Images, filters and results go through
// small linear transforms, all of them in the blocked layout (blocked.h): one pixel is one vector.
// REQUIRES, for all functions: m is 2, 4 or 6.
#pragma once

#include <cstdint>

#include "shoal/cpu/conv/finish.h"

namespace shoal::cpu {

// A tile of m + 2 by m + 2 pixels of one block of channels.
struct WinogradInput {
  const float* x = nullptr;  // the block
  int64_t offset = 0;        // of the first pixel; negative if it lies in the padding
  int64_t row_stride = 0;    // floats
  // Rows and columns of the tile that lie in the image; the others are zero.
  int row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;
};

// Element i of the transformed tile, (m + 2)^2 of them, goes to v + i * stride.
void winograd_input(int m, const WinogradInput& input, float* v, int64_t stride);

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
void winograd_output(int m, const float* z, int64_t stride, const WinogradOutput& output);

// Filters of b output channels for one input channel: g is [9][b], element i goes to
// u + i * stride.
void winograd_filters(int m, const float* g, float* u, int64_t stride);

}  // namespace shoal::cpu
