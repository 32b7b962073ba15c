// LatencyRecorder: quantiles of any number of latencies in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shoal {

// Quantiles are exact up to kExact latencies. Beyond that a histogram is kept, from a microsecond
// to a quarter of an hour, whose buckets grow by half a percent each. Not thread-safe.
class LatencyRecorder {
 public:
  static constexpr size_t kExact = size_t{1} << 16;

  void add(double ms);
  LatencyRecorder& operator+=(const LatencyRecorder& other);

  uint64_t count() const { return count_; }
  double max() const { return max_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  // The latency that a `share` of the requests did not exceed, by nearest rank; 0 if there are
  // none. REQUIRES: 0 <= share <= 1
  double quantile(double share) const;

 private:
  static constexpr double kShortest = 1e-3, kGrowth = 1.005;  // ms, and from bucket to bucket
  static constexpr size_t kBuckets = 4160;

  static size_t bucket_of(double ms);

  std::vector<double> exact_;  // all latencies; empty if there are more than kExact
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  double max_ = 0, sum_ = 0;
};

}  // namespace shoal
