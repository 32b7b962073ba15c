// How often the elements of a value take which size, over many runs, and the range that the 256
// steps of a byte are best spent on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::compress {

struct Range {
  float low = 0, high = 0;  // low <= 0 <= high
};

class Histogram {
 public:
  // Grows with what it sees: no range has to be known before.
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
