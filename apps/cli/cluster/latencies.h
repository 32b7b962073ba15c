// Latencies: how long any number of requests took, to half a percent, in constant memory.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace shoal::cli {

class Latencies {
 public:
  void add(double ms) {
    ++counts_[bucket(ms)];
    ++count_;
    longest_ = std::max(longest_, ms);
    sum_ += ms;
  }

  uint64_t count() const { return count_; }
  double longest() const { return longest_; }
  double mean() const { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }

  // So many of them, as a part of all, took no longer.
  double at(double share) const {
    auto before = static_cast<uint64_t>(share * static_cast<double>(count_));
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (before < counts_[i]) return std::min(longest_, kShortest * std::pow(kStep, i + 1));
      before -= counts_[i];
    }
    return longest_;
  }

 private:
  static constexpr double kShortest = 1e-3, kStep = 1.005;  // ms, and from one to the next
  static constexpr size_t kBuckets = 4160;                  // up to a quarter of an hour

  static size_t bucket(double ms) {
    const double steps = std::log(std::max(ms, kShortest) / kShortest) / std::log(kStep);
    return std::min(kBuckets - 1, static_cast<size_t>(steps));
  }

  std::array<uint64_t, kBuckets> counts_{};
  uint64_t count_ = 0;
  double longest_ = 0, sum_ = 0;
};

}  // namespace shoal::cli
