// The right factor of many products: weights, packed once when a kernel is made.
#pragma once

#include "shoal/base/thread_pool.h"
#include "shoal/cpu/aligned.h"
#include "shoal/cpu/product.h"

namespace shoal::cpu {

// `count` matrices of k x n, k * n elements apart, each multiplied by `scale`.
class PackedColumns {
 public:
  PackedColumns(const Matrix& first, int64_t count, int64_t k, int64_t n, float scale,
                ThreadPool& pool);

  const float* panels(int64_t matrix) const { return memory_.data() + matrix * stride_; }

 private:
  int64_t stride_;
  AlignedFloats memory_;
};

}  // namespace shoal::cpu
