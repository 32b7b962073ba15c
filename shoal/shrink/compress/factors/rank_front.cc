#include "shoal/shrink/compress/factors/rank_front.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace shoal::compress {
namespace {

// What a step saves: of each kind that is still too much, the share of the excess. Nothing if it
// costs more of another kind, so that no step undoes one before it.
double saved(const RankOption& from, const RankOption& to, std::span<const double> excess) {
  double sum = 0;
  for (size_t kind = 0; kind < excess.size(); ++kind) {
    if (to.costs[kind] > from.costs[kind]) return 0;
    if (excess[kind] > 0) sum += (from.costs[kind] - to.costs[kind]) / excess[kind];
  }
  return sum;
}

struct Step {
  size_t layer = 0, option = 0;
  double price = 0;  // what is lost for what is saved
};

}  // namespace

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
  const auto position = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
    return candidate.ranks.outputs >= ranks.outputs && candidate.ranks.inputs >= ranks.inputs;
  });
  return std::min(static_cast<size_t>(position - candidates.begin()), candidates.size() - 1);
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

std::optional<std::vector<size_t>> choose_ranks(std::span<const std::vector<RankOption>> layers,
                                                std::span<const double> most) {
  std::vector<size_t> chosen(layers.size(), 0);
  while (true) {
    std::vector<double> excess(most.size());
    bool is_met = true;
    for (size_t kind = 0; kind < most.size(); ++kind) {
      excess[kind] = -most[kind];
      for (size_t i = 0; i < layers.size(); ++i) excess[kind] += layers[i][chosen[i]].costs[kind];
      is_met = is_met && excess[kind] <= 0;
    }
    if (is_met) return chosen;
    std::optional<Step> best;
    for (size_t i = 0; i < layers.size(); ++i) {
      const RankOption& now = layers[i][chosen[i]];
      for (size_t option = 0; option < layers[i].size(); ++option) {
        const double saving = saved(now, layers[i][option], excess);
        if (!(saving > 0)) continue;
        const double price = (layers[i][option].lost - now.lost) / saving;
        if (!best || price < best->price) best = Step{i, option, price};
      }
    }
    if (!best) return std::nullopt;
    chosen[best->layer] = best->option;
  }
}

}  // namespace shoal::compress
