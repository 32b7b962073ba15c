#include "shoal/video/faces/evaluation/pairs.h"

#include <algorithm>
#include <array>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::faces {

double accuracy_at(std::span<const FacePair> pairs, double threshold) {
  const auto right = std::ranges::count_if(
      pairs, [&](const FacePair& one) { return (one.distance <= threshold) == one.same; });
  return pairs.empty() ? 0 : static_cast<double>(right) / static_cast<double>(pairs.size());
}

double best_threshold(std::span<const FacePair> pairs) {
  std::vector<FacePair> sorted(pairs.begin(), pairs.end());
  std::ranges::sort(sorted, {}, &FacePair::distance);
  // Right answers with a threshold after the first i pairs: those of one person before, of two
  // after.
  auto right = std::ranges::count(sorted, false, &FacePair::same);
  auto most = right;
  double best = sorted.empty() ? 0 : sorted.front().distance / 2;
  for (size_t i = 0; i < sorted.size(); ++i) {
    right += sorted[i].same ? 1 : -1;
    const bool last = i + 1 == sorted.size();
    const double next = last ? sorted[i].distance : sorted[i + 1].distance;
    if (right <= most || (!last && next == sorted[i].distance)) continue;
    most = right;
    best = (sorted[i].distance + next) / 2;
  }
  return best;
}

double cross_validated(std::span<const FacePair> pairs, size_t folds) {
  SHOAL_CHECK(folds > 1);
  double sum = 0;
  size_t used = 0;
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<FacePair> chosen_on, tested;
    std::array<size_t, 2> seen = {0, 0};  // of each kind
    for (const FacePair& one : pairs) {
      (seen[one.same ? 1 : 0]++ % folds == fold ? tested : chosen_on).push_back(one);
    }
    if (tested.empty()) continue;
    sum += accuracy_at(tested, best_threshold(chosen_on));
    ++used;
  }
  return used == 0 ? 0 : sum / static_cast<double>(used);
}

}  // namespace shoal::faces
