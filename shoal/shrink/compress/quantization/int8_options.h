// Int8Options: how the method int8 rounds a network.
#pragma once

#include <optional>

#include "shoal/shrink/compress/analysis/histogram.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// When products stay real.
struct FallbackRule {
  double most_noise = 0.1;  // of the answers, all quantised products together: 10 dB
  double most_work = 0.25;  // the share of the work that may stay real; 0: none does
};

// A value.
struct Int8Options {
  // Of values, and of the weights of each output channel; nothing: what is best on examples that
  // the ranges were not seen on.
  std::optional<RangeRule> ranges = {};
  bool correct_bias = true;  // where that helps on such examples
  FallbackRule fallback = {};
};

}  // namespace shoal::compress

#pragma GCC visibility pop
