// PackedRows: the left factor of many products, packed once when a kernel is made.
#pragma once

#include "shoal/engine/cpu/packed_weights.h"
#include "shoal/engine/cpu/product/product.h"

namespace shoal::cpu {

// A node's weights as `count` matrices of m x k, one after the other, row-major.
class PackedRows {
 public:
  PackedRows(const KernelSpec& spec, int64_t count, int64_t m, int64_t k);

  const float* panels(int64_t matrix) const { return packed_.get() + matrix * stride_; }

 private:
  int64_t stride_;
  PackedFloats packed_;
};

}  // namespace shoal::cpu
