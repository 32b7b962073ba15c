// AlignedFloats: an array of floats that starts at a cache line, for packed weights. Elements are
// not initialised: write them before reading. A moved-from or default array has no data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

#include "shoal/base/machine/pages.h"

namespace shoal::cpu {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  explicit AlignedFloats(int64_t count) : AlignedFloats(bytes_of(count)) {}

  float* data() { return memory_.get(); }
  const float* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector
  // Larger arrays have pages of their own, which go back to the system as soon as they are freed.
  // Tuning packs and drops the weights of many kernels; a heap would keep that memory.
  static constexpr size_t kLarge = size_t{1} << 20;

  struct Free {
    size_t bytes;
    void operator()(float* p) const {
      bytes >= kLarge ? free_pages(p, bytes) : ::operator delete[](p, kAlignment);
    }
  };

  static size_t bytes_of(int64_t count) {
    // At least one element, so that data() is never null after allocation.
    return static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(float);
  }
  explicit AlignedFloats(size_t bytes)
      : memory_(static_cast<float*>(bytes >= kLarge ? allocate_pages(bytes)
                                                    : ::operator new[](bytes, kAlignment)),
                Free{bytes}) {}

  std::unique_ptr<float[], Free> memory_{nullptr, Free{0}};
};

}  // namespace shoal::cpu
