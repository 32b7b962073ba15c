// The cells that heads predict for.
#pragma once

#include <array>
#include <cstdint>

namespace shoal::detect {

inline constexpr std::array<int64_t, 3> kStrides = {8, 16, 32};
inline constexpr int64_t kNanodetBins = 8;  // of a distance
inline constexpr int64_t kSsd300Side = 300, kSsd300Priors = 8732;

constexpr int64_t rows_of(int64_t side, int64_t stride) { return (side + stride - 1) / stride; }

// Of all strides.
constexpr int64_t cells_of(int64_t height, int64_t width) {
  int64_t cells = 0;
  for (const int64_t stride : kStrides) cells += rows_of(height, stride) * rows_of(width, stride);
  return cells;
}

}  // namespace shoal::detect
