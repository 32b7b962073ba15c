// Histogram: counts of a value's elements by size over many runs, and the range that 256
// quantisation steps serve best.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::compress {

// The numbers from low to high, with 0 among them: low <= 0 <= high.
struct Range {
  float low = 0;   // the least
  float high = 0;  // the greatest
};

// Which range a byte's steps are spent on.
enum class RangeRule : uint8_t {
  kMinMax,      // all that was seen
  kPercentile,  // all but 1 element in 10,000
  kMse,         // the one of the least squared error
};
inline constexpr std::array kRangeRules = {RangeRule::kMinMax, RangeRule::kPercentile,
                                           RangeRule::kMse};

// "minmax", "percentile" and "mse", and back; nullopt for any other name.
std::string_view name_of(RangeRule rule);
std::optional<RangeRule> find_range_rule(std::string_view name);

// The share of elements that lie outside a range of kPercentile, both ends together.
inline constexpr double kShareOutside = 1e-4;

// A function of one element.
using ElementFunction = std::function<double(double)>;

// Counts of magnitudes. A value; one thread at a time may change it.
class Histogram {
 public:
  // Counts these elements. The histogram grows as needed. NaN, infinity and magnitudes beyond 1e30
  // are ignored.
  void add(std::span<const float> elements);

  // The range by this rule. It contains 0, which has to be exact for padding. If all readers of the
  // elements are the function `read_by`, kMse counts the error after it: telling -20 from -30 is
  // worth nothing before a Sigmoid.
  Range range(RangeRule rule, const ElementFunction& read_by = {}) const;
  // By kMse.
  Range best_range(const ElementFunction& read_by = {}) const;

 private:
  static constexpr size_t kBins = 4096;
  // Elements in one bin, their image under `read_by`, and its slope there.
  struct Bin {
    double count = 0, x = 0, y = 0, slope = 1;
  };

  void widen(float magnitude);
  double centre(size_t bin) const;
  std::vector<Bin> bins(const ElementFunction& read_by) const;
  Range percentile() const;

  float limit_ = 0;  // the bins cover [-limit_, limit_); a power of two
  Range seen_;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kBins);
};

}  // namespace shoal::compress

#pragma GCC visibility pop
