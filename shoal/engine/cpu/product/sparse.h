// Products of a vector with a matrix most of whose elements are zero, in two forms: single elements
// (compressed columns), or blocks of 16 outputs of one input, as block pruning leaves them.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {

// Share of a k x n matrix that is not zero, from 0 to 1.
struct Density {
  double elements = 0;
  double blocks = 0;
};
Density density_of(const Matrix& matrix, int64_t k, int64_t n);

// Density of a sample of the columns, to detect dense matrices cheaply.
Density sampled_density_of(const Matrix& matrix, int64_t k, int64_t n);

// Compressed columns: for every column, its elements that are not zero and their rows. Immutable,
// so multiply() is thread-safe. REQUIRES: k fits into 32 bits.
class SparseColumns {
 public:
  SparseColumns(const Matrix& matrix, int64_t k, int64_t n);
  // y_j = x . column j, for j in [begin, end)
  void multiply(const float* x, int64_t begin, int64_t end, float* y) const;

 private:
  std::vector<int64_t> begin_;  // per column, and the end
  std::vector<int32_t> row_;
  std::vector<float> value_;
};

// Compressed blocks: for every 16 columns, the rows in which one of them is not zero. Immutable, so
// multiply() is thread-safe. REQUIRES: k fits into 32 bits.
class SparseBlocks {
 public:
  static constexpr int64_t kWidth = 16;

  SparseBlocks(const Matrix& matrix, int64_t k, int64_t n);
  // The same. REQUIRES: begin is a multiple of kWidth, and so is end unless it is n.
  void multiply(const float* x, int64_t begin, int64_t end, float* y) const;

 private:
  int64_t n_;
  std::vector<int64_t> begin_;  // per group of columns, and the end
  std::vector<int32_t> row_;
  AlignedFloats values_;  // [block][kWidth]
};

}  // namespace shoal::cpu
