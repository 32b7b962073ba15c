// Buckets grow by 0.5 %: bucket i holds [kShortest * kGrowth^i, kShortest * kGrowth^(i + 1)).
#include "shoal/base/timing/latency_recorder.h"

#include <algorithm>
#include <cmath>

namespace shoal {

void LatencyRecorder::add(double ms) {
  if (count_ < kExact) {
    exact_.push_back(ms);
  } else {
    exact_ = {};
  }
  ++counts_[bucket_of(ms)];
  ++count_;
  max_ = std::max(max_, ms);
  sum_ += ms;
}

LatencyRecorder& LatencyRecorder::operator+=(const LatencyRecorder& other) {
  count_ += other.count_;
  if (count_ <= kExact) {
    exact_.insert(exact_.end(), other.exact_.begin(), other.exact_.end());
  } else {
    exact_ = {};
  }
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
  return *this;
}

// The rank is round(share * (n - 1)). From the histogram comes the upper end of a bucket, so that a
// quantile is never too small, but no more than the maximum.
double LatencyRecorder::quantile(double share) const {
  if (count_ == 0) return 0;
  auto rank = static_cast<uint64_t>(std::llround(share * static_cast<double>(count_ - 1)));
  if (!exact_.empty()) {
    std::vector<double> sorted = exact_;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(rank);
    std::ranges::nth_element(sorted, at);
    return *at;
  }
  for (size_t i = 0; i < kBuckets; ++i) {
    if (rank < counts_[i]) return std::min(max_, kShortest * std::pow(kGrowth, i + 1));
    rank -= counts_[i];
  }
  return max_;
}

size_t LatencyRecorder::bucket_of(double ms) {
  const double steps = std::log(std::max(ms, kShortest) / kShortest) / std::log(kGrowth);
  return std::min(kBuckets - 1, static_cast<size_t>(steps));
}

}  // namespace shoal
