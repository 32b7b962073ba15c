// Labels of an object in an index: what a cheap classifier with exits may have seen.
//
//   R(x) = union over the exits j of J of the best k classes of exit j        [Huynh 2019, 5]
//
// It has k labels where the exits agree, and up to |J| k where they do not. The index is as large
// as the sum of |R|. A configuration (k, J) is chosen on labelled examples: the smallest sum with
// which the true label of the wanted share of examples is in R. J is the first so many exits, or
// one exit alone, which is what Focus does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::query {

// Scores of all classes at each exit, the last classifier's last.
using ExitScores = std::vector<std::vector<float>>;

// Which labels go into the index. A value.
struct LabelConfig {
  size_t k = 1;
  size_t first = 0, exits = 1;  // the exits [first, first + exits)

  friend bool operator==(const LabelConfig&, const LabelConfig&) = default;
};

// R(x), in ascending order. Of equal scores the lower class is better; NaN is the worst. Exits that
// are not there are left out.
std::vector<int64_t> labels_of(const ExitScores& scores, const LabelConfig& config);

// An object whose class is known.
struct Example {
  ExitScores scores = {};
  int64_t label = 0;
};

// What a configuration does to examples.
struct LabelFigures {
  LabelConfig config = {};
  double recall = 0;   // share of examples whose label is in R
  size_t entries = 0;  // the sum of |R|
};
// Pure.
LabelFigures figures_of(std::span<const Example> examples, const LabelConfig& config);

// Which configurations may be chosen.
enum class LabelChoice : uint8_t {
  kPrefixes,  // the first so many exits
  kOneExit,   // one exit alone, the control
};
// The configuration with the fewest entries, k up to `most_k`, with at least this recall; of
// several the one with fewer exits. Nothing where there is none.
std::optional<LabelFigures> choose_labels(std::span<const Example> examples, LabelChoice choice,
                                          double recall = 0.99, size_t most_k = 6);

}  // namespace shoal::query

#pragma GCC visibility pop
