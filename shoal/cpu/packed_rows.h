// The left factor of many products: weights, packed once when a kernel is made.
#pragma once

#include <memory>

#include "shoal/base/thread_pool.h"
#include "shoal/cpu/product.h"

namespace shoal::cpu {

// `count` matrices of m x k, one after the other in `data`, row-major.
class PackedRows {
 public:
  PackedRows(const float* data, int64_t count, int64_t m, int64_t k, ThreadPool& pool);

  const float* panels(int64_t matrix) const { return memory_.get() + matrix * stride_; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  int64_t stride_;
  std::unique_ptr<float[], Free> memory_;
};

}  // namespace shoal::cpu
