// Histogram: how often the elements of a value have which size, over many runs, and the range that
// the 256 steps of a byte are best spent on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::compress {

// The numbers from low to high, with 0 among them: low <= 0 <= high.
struct Range {
  float low = 0;   // the least
  float high = 0;  // the greatest
};

// Counts of magnitudes. A value; one thread at a time may change it.
class Histogram {
 public:
  // Counts these elements, too. No range has to be known before: the histogram grows. NaN, infinity
  // and magnitudes beyond 1e30 are ignored.
  void add(std::span<const float> elements);

  // The range in which rounding to 256 steps, and clamping what lies outside, makes the least
  // squared error. It contains 0, which has to be exact for padding.
  Range best_range() const;

 private:
  static constexpr size_t kBins = 4096;

  void widen(float magnitude);
  double centre(size_t bin) const;
  double error(Range range) const;

  float limit_ = 0;  // the bins cover [-limit_, limit_); a power of two
  Range seen_;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kBins);
};

}  // namespace shoal::compress

#pragma GCC visibility pop
