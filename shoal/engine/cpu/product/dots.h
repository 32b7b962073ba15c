// Products of a few rows with a large matrix that is read once and in place: fully connected layers
// at batch size 1.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// y = x * w^T. Elements along k are contiguous in both factors.
struct Dots {
  const float* x = nullptr;
  int64_t x_stride = 0;  // from row to row
  int64_t m = 0;
  int64_t k = 0;
  const float* w = nullptr;  // [n, k]
  float* y = nullptr;        // [m, n]
  int64_t y_stride = 0;
};

// y[i, j] = x_i . w_j for every i and the rows j in [begin, end) of w.
void dot_rows(const Dots& dots, int64_t begin, int64_t end);

// y[j] = sum over p of x[p] * w[p, j] for j in [begin, end); w: [k, n].
void add_rows(const float* x, int64_t k, const float* w, int64_t n, int64_t begin, int64_t end,
              float* y);

}  // namespace shoal::cpu
