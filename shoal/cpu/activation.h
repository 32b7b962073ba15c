// What may follow a product before it is stored.
#pragma once

#include <cstdint>
#include <limits>

namespace shoal::cpu {

// Clamping costs nothing next to a store, so it happens always; other functions make a second
// pass over elements that are still in the first-level cache.
struct Activation {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  void (*pass)(const Activation&, float* y, int64_t n) = nullptr;
  float alpha = 0, beta = 0;
};

}  // namespace shoal::cpu
