// Floats that start at a cache line, not cleared: for packed weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "shoal/base/pages.h"

namespace shoal::cpu {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t count)
      : memory_(static_cast<float*>(::operator new[](
            static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(float), kAlignment))) {
    prefer_huge_pages(memory_.get(), static_cast<size_t>(count) * sizeof(float));
  }

  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<float[], Free> memory_;
};

}  // namespace shoal::cpu
