// Buckets grow by 0.5 %: bucket i holds [kShortest * kGrowth^i, kShortest * kGrowth^(i + 1)).
#include "shoal/base/latency_recorder.h"

#include <algorithm>
#include <cmath>

namespace shoal {

void LatencyRecorder::add(double ms) {
  ++counts_[bucket_of(ms)];
  ++count_;
  max_ = std::max(max_, ms);
  sum_ += ms;
}

// The upper end of a bucket, so that a quantile is never too small, but no more than the maximum.
double LatencyRecorder::quantile(double share) const {
  auto before = static_cast<uint64_t>(share * static_cast<double>(count_));
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (before < counts_[i]) return std::min(max_, kShortest * std::pow(kGrowth, i + 1));
    before -= counts_[i];
  }
  return max_;
}

size_t LatencyRecorder::bucket_of(double ms) {
  const double steps = std::log(std::max(ms, kShortest) / kShortest) / std::log(kGrowth);
  return std::min(kBuckets - 1, static_cast<size_t>(steps));
}

}  // namespace shoal
