// The range of a quantised value, as the minimum of the expected squared error
//
//   E(range) = sum over bins of count * ((f'(x) step)^2 / 12 + (f(x) - f(clamp x))^2),
//
// with x the bin's centre, step = (high - low) / 255, and f the reader of the elements (x itself if
// that is not one function). The first term is the variance of rounding, the second the error of
// clamping. The search tries 64 cuts per end and costs 3 * 64 evaluations of at most 4096 bins.
#include "shoal/shrink/compress/analysis/histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace shoal::compress {
namespace {

constexpr double kSteps = 255;  // between the 256 numbers of a byte

constexpr std::array kNames = {std::pair{RangeRule::kMinMax, "minmax"},
                               std::pair{RangeRule::kPercentile, "percentile"},
                               std::pair{RangeRule::kMse, "mse"}};

}  // namespace

std::string_view name_of(RangeRule rule) {
  return std::ranges::find(kNames, rule, [](const auto& entry) { return entry.first; })->second;
}

std::optional<RangeRule> find_range_rule(std::string_view name) {
  const auto position = std::ranges::find(
      kNames, name, [](const auto& entry) { return std::string_view(entry.second); });
  return position == kNames.end() ? std::nullopt : std::optional(position->first);
}

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

std::vector<Histogram::Bin> Histogram::bins(const ElementFunction& read_by) const {
  std::vector<Bin> all;
  const double half = limit_ / static_cast<double>(kBins);
  for (size_t i = 0; i < kBins; ++i) {
    if (counts_[i] == 0) continue;
    Bin& bin = all.emplace_back(Bin{static_cast<double>(counts_[i]), centre(i), centre(i), 1});
    if (!read_by) continue;
    bin.y = read_by(bin.x);
    bin.slope = (read_by(bin.x + half) - read_by(bin.x - half)) / (2 * half);
  }
  return all;
}

// The ends are optimised in turn, as they hardly depend on each other; the upper one twice, because
// the lower one has changed since.
Range Histogram::best_range(const ElementFunction& read_by) const {
  constexpr int kCuts = 64;
  Range best = seen_;
  if (best.low == best.high) return best;
  const std::vector<Bin> all = bins(read_by);
  const auto at = [&](double x) { return read_by ? read_by(x) : x; };
  const auto error = [&](Range range) {
    const double step = (static_cast<double>(range.high) - range.low) / kSteps;
    const double low = at(range.low), high = at(range.high);
    double sum = 0;
    for (const Bin& bin : all) {
      const double rounding = bin.slope * step;
      const double clamped = bin.x < range.low ? low : bin.x > range.high ? high : bin.y;
      sum += bin.count * (rounding * rounding / 12 + (bin.y - clamped) * (bin.y - clamped));
    }
    return sum;
  };
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

// Half of the share lies beyond each end, to the width of a bin.
Range Histogram::percentile() const {
  const uint64_t all = std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  const auto outside = static_cast<uint64_t>(kShareOutside / 2 * static_cast<double>(all));
  const double width = 2.0 * limit_ / static_cast<double>(kBins);
  size_t low = 0, high = kBins;
  for (uint64_t sum = 0; low < kBins && (sum += counts_[low]) <= outside;) ++low;
  for (uint64_t sum = 0; high > 0 && (sum += counts_[high - 1]) <= outside;) --high;
  const auto edge = [&](size_t bin) {
    return static_cast<float>(static_cast<double>(bin) * width - limit_);
  };
  return {std::clamp(edge(low), seen_.low, 0.0f), std::clamp(edge(high), 0.0f, seen_.high)};
}

Range Histogram::range(RangeRule rule, const ElementFunction& read_by) const {
  switch (rule) {
    case RangeRule::kMinMax:
      return seen_;
    case RangeRule::kPercentile:
      return percentile();
    case RangeRule::kMse:
      break;
  }
  return best_range(read_by);
}

}  // namespace shoal::compress
