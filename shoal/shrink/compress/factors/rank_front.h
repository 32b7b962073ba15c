// Which ranks are worth trying, and the search among them. It knows no graph and no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::compress {

// The ranks of a layer's factors: how many combinations of its outputs and of its inputs are kept.
// A matrix has one rank, which is both.
struct Ranks {
  size_t outputs = 0;
  size_t inputs = 0;
  friend bool operator==(const Ranks&, const Ranks&) = default;
};

struct Candidate {
  Ranks ranks;
  double macs = 0;     // of all factors together
  double lost = 0;     // share of the weights' energy that the factors miss, at most
  double weights = 0;  // how many numbers the factors have
};

// The ranks below `full` that a device computes without waste, and `full` itself, ascending.
// Channels lie in blocks: 33 take as long as 48. Where `full` is less than four blocks, half a
// block is a step. REQUIRES: block > 0.
std::vector<size_t> rank_grid(size_t full, size_t block);

// Element k is the share of the energy, the squares of the singular values, beyond the first k; one
// more than there are values. All zero if there is no energy.
std::vector<double> lost_energy(std::span<const double> singular_values);

// The candidates with fewer multiply-accumulates than `macs` than which none is both cheaper and
// better: in ascending order of work, and thus in descending order of loss.
std::vector<Candidate> front(std::vector<Candidate> candidates, double macs);

// The first candidate with at least these ranks, or the last one. REQUIRES: there are some.
size_t first_with(std::span<const Candidate> candidates, const Ranks& ranks);

// The first index below `count` for which `holds` is true, if it is true for all after that too;
// `count` if there is none. Begins at `start` and strides outwards, so that it is asked seldom
// where `start` is a good guess. Fails as `holds` does.
Result<size_t> first_index(size_t count, size_t start,
                           const std::function<Result<bool>(size_t)>& holds);

// Ranks for all layers of a network together: which layer is to lose how much, so that the network
// as a whole becomes as small or as fast as is wanted. Numbers only: it knows no graph.

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
