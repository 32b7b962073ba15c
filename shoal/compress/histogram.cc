// The range of a quantised value, as the minimum of the expected squared error
//
//   E(range) = sum over bins of count * (step^2 / 12 + d^2),   step = (high - low) / 255,
//
// where step^2 / 12 is the variance of rounding and d the distance of the bin's centre from the
// range, which is the error of clamping. A wide range rounds coarsely, a narrow one clamps much.
// The search tries 64 cuts per end and costs 3 * 64 evaluations of 4096 bins, whatever the number
// of elements.
#include "shoal/compress/histogram.h"

#include <algorithm>
#include <cmath>

namespace shoal::compress {
namespace {

constexpr double kSteps = 255;  // between the 256 numbers of a byte

}  // namespace

// Doubles the range until it holds `magnitude`. Doubling makes one bin of two, so that no element
// has to be counted again.
void Histogram::widen(float magnitude) {
  if (limit_ == 0) {
    limit_ = std::exp2(std::ceil(std::log2(magnitude)));
    if (limit_ <= magnitude) limit_ *= 2;
  }
  while (limit_ <= magnitude) {
    std::vector<uint64_t> wider(kBins);
    for (size_t i = 0; i < kBins; ++i) wider[kBins / 4 + i / 2] += counts_[i];
    counts_ = std::move(wider);
    limit_ *= 2;
  }
}

void Histogram::add(std::span<const float> elements) {
  constexpr float kLargest = 1e30f;  // larger elements come from a broken model
  Range range;
  for (float x : elements) {
    // False for NaN, too.
    if (!(std::abs(x) <= kLargest)) continue;
    range = {std::min(range.low, x), std::max(range.high, x)};
  }
  const float magnitude = std::max(-range.low, range.high);
  if (magnitude == 0) return;  // zeros fit into any range
  widen(magnitude);
  seen_ = {std::min(seen_.low, range.low), std::max(seen_.high, range.high)};
  const double per_unit = kBins / (2.0 * limit_);  // beyond a float's reach where all are tiny
  for (float x : elements) {
    if (!(std::abs(x) <= kLargest)) continue;
    ++counts_[std::min(static_cast<size_t>((static_cast<double>(x) + limit_) * per_unit),
                       kBins - 1)];
  }
}

double Histogram::centre(size_t bin) const {
  return (static_cast<double>(bin) + 0.5) * (2.0 * limit_ / kBins) - limit_;
}

double Histogram::error(Range range) const {
  const double step = (static_cast<double>(range.high) - range.low) / kSteps;
  const double rounding = step * step / 12;  // on average, if elements lie anywhere in a step
  double sum = 0;
  for (size_t i = 0; i < kBins; ++i) {
    if (counts_[i] == 0) continue;
    const double x = centre(i);
    const double outside = std::max({range.low - x, x - range.high, 0.0});
    sum += static_cast<double>(counts_[i]) * (rounding + outside * outside);
  }
  return sum;
}

// The ends are optimised in turn, as they hardly depend on each other; the upper one twice, because
// the lower one has changed since.
Range Histogram::best_range() const {
  constexpr int kCuts = 64;
  Range best = seen_;
  if (best.low == best.high) return best;
  double least = error(best);
  for (float Range::*end : {&Range::high, &Range::low, &Range::high}) {
    const float whole = seen_.*end;
    for (int cut = 0; cut < kCuts; ++cut) {
      Range range = best;
      range.*end = whole * (1 - static_cast<float>(cut) / kCuts);
      if (range.low == range.high) continue;
      const double cost = error(range);
      if (cost < least) {
        least = cost;
        best = range;
      }
    }
  }
  return best;
}

}  // namespace shoal::compress
