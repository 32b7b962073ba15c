// Floats that start at a cache line, for packed weights: to be written before they are read.
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
  explicit AlignedFloats(int64_t count) : AlignedFloats(bytes_of(count)) {}

  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr size_t kLarge = size_t{1} << 20;

  struct Free {
    size_t bytes;
    void operator()(float* p) const {
      bytes >= kLarge ? free_pages(p, bytes) : ::operator delete[](p, kAlignment);
    }
  };

  static size_t bytes_of(int64_t count) {
    return static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(float);
  }
  explicit AlignedFloats(size_t bytes)
      : memory_(static_cast<float*>(bytes >= kLarge ? allocate_pages(bytes)
                                                    : ::operator new[](bytes, kAlignment)),
                Free{bytes}) {}

  std::unique_ptr<float[], Free> memory_{nullptr, Free{0}};
};

}  // namespace shoal::cpu
