// Pairs of faces, of one person or of two: how well a threshold tells them apart, as LFW is
// evaluated.
#pragma once

#include <cstddef>
#include <span>

#pragma GCC visibility push(default)

namespace shoal::faces {

// Two faces.
struct FacePair {
  double distance = 0;  // squared
  bool same = false;    // in truth
};

// The share of pairs that are rightly told: the same person up to the threshold. 0 of none.
double accuracy_at(std::span<const FacePair> pairs, double threshold);

// The threshold with the highest accuracy, in the middle between two distances; of several the
// lowest. 0 for no pairs.
double best_threshold(std::span<const FacePair> pairs);

// The accuracy on each of `folds` parts with the best threshold of the other parts, on the average.
// Pair i is of part i % folds, of its kind. REQUIRES: folds > 1.
double cross_validated(std::span<const FacePair> pairs, size_t folds);

}  // namespace shoal::faces

#pragma GCC visibility pop
