// PackedColumns: the right factor of many products, packed once when a kernel is made.
#pragma once

#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {

// `count` matrices of k x n, k * n elements apart, each multiplied by `scale`.
class PackedColumns {
 public:
  PackedColumns(const KernelSpec& spec, const Matrix& first, int64_t count, int64_t k, int64_t n,
                float scale);

  const float* panels(int64_t matrix) const { return packed_.get() + matrix * stride_; }

 private:
  int64_t stride_;
  PackedFloats packed_;
};

}  // namespace shoal::cpu
