// Ranks for all layers of a network together: which layer is to lose how much, so that the network
// as a whole becomes as small or as fast as is wanted. Numbers only: it knows no graph.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace shoal::compress {

// What a layer may become.
struct RankOption {
  std::vector<double> costs;  // of each kind
  double lost = 0;            // share of its output that it misses
};

// An option for each layer, so that of every kind of cost there is no more than `most` in all and
// little is lost. Nothing if that cannot be. Layers begin with option 0, and one after the other
// goes on to the option that loses least for what it saves, a step at a time: with one kind of
// cost, no other choice that costs as little loses less. Pure. REQUIRES: every layer has an option,
// every option has a cost of each kind.
std::optional<std::vector<size_t>> choose_ranks(std::span<const std::vector<RankOption>> layers,
                                                std::span<const double> most);

}  // namespace shoal::compress
