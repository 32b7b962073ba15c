#include "shoal/shrink/compress/factors/rank_front.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace shoal::compress {

std::vector<size_t> rank_grid(size_t full, size_t block) {
  SHOAL_CHECK(block > 0);
  const size_t step = full < 4 * block ? std::max<size_t>(block / 2, 1) : block;
  std::vector<size_t> ranks;
  for (size_t rank = step; rank < full; rank += step) ranks.push_back(rank);
  ranks.push_back(full);
  return ranks;
}

// Summed from the smallest, so that the tail of a long spectrum is not lost in rounding.
std::vector<double> lost_energy(std::span<const double> singular_values) {
  std::vector<double> lost(singular_values.size() + 1);
  for (size_t i = singular_values.size(); i-- > 0;) {
    lost[i] = lost[i + 1] + singular_values[i] * singular_values[i];
  }
  if (const double all = lost[0]; all > 0) {
    for (double& share : lost) share /= all;
  }
  return lost;
}

std::vector<Candidate> front(std::vector<Candidate> candidates, double macs) {
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.macs, a.lost) < std::tie(b.macs, b.lost);
  });
  std::vector<Candidate> best;
  double least = std::numeric_limits<double>::infinity();
  for (const Candidate& candidate : candidates) {
    if (candidate.macs >= macs || candidate.lost >= least) continue;
    least = candidate.lost;
    best.push_back(candidate);
  }
  return best;
}

size_t first_with(std::span<const Candidate> candidates, const Ranks& ranks) {
  SHOAL_CHECK(!candidates.empty());
  const auto found = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return candidate.ranks.outputs >= ranks.outputs && candidate.ranks.inputs >= ranks.inputs;
  });
  return std::min(static_cast<size_t>(found - candidates.begin()), candidates.size() - 1);
}

Result<size_t> first_index(size_t count, size_t start,
                           const std::function<Result<bool>(size_t)>& holds) {
  size_t low = 0, high = count;  // the answer is in [low, high]
  size_t stride = 1;
  for (size_t at = count == 0 ? 0 : std::min(start, count - 1); low < high; stride *= 2) {
    SHOAL_ASSIGN(const bool here, holds(at));
    (here ? high : low) = here ? at : at + 1;
    if (high == count) {  // never true yet
      at = std::min(low + stride - 1, count - 1);
    } else if (low == 0) {  // never false yet
      at = high > stride ? high - stride : 0;
    } else {
      at = low + (high - low) / 2;
    }
  }
  return low;
}

}  // namespace shoal::compress
