#include "shoal/shrink/compress/factors/choose_ranks.h"

#include <cstddef>

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
