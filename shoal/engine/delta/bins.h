// Bins of histograms, by vectors.
#pragma once

#include <cstdint>
#include <span>

namespace shoal::delta {

// Bins of one width, from `low` on. What lies outside is in the first or in the last one.
struct Bins {
  float low = 0, scale = 1;  // the inverse of the width
  int64_t count = 1;         // at most 256
};

// The bin of each element; a NaN falls into the first. REQUIRES: both have the same size.
void bins_of(std::span<const float> elements, const Bins& bins, std::span<uint8_t> to);

// Adds how many of `from` are in each bin. REQUIRES: all are below counts.size().
void count_bins(std::span<const uint8_t> from, std::span<uint32_t> counts);

}  // namespace shoal::delta
