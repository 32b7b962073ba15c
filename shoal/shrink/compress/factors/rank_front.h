// Which ranks are worth trying, and the search among them. No graph, no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::compress {

// The ranks of a layer's factors: the number of combinations of outputs and of inputs that are
// kept. For a matrix both are equal.
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

// The ranks below `full` that a device computes without waste, and `full`, ascending. Channels come
// in blocks: 33 take as long as 48. Below four blocks, half a block is a step. REQUIRES: block > 0.
std::vector<size_t> rank_grid(size_t full, size_t block);

// Element k is the share of the energy (squared singular values) beyond the first k; one more than
// there are values. All zero without energy.
std::vector<double> lost_energy(std::span<const double> singular_values);

// The Pareto front of candidates with fewer multiply-accumulates than `macs`, ascending in work and
// descending in loss.
std::vector<Candidate> front(std::vector<Candidate> candidates, double macs);

// The first candidate with at least these ranks, or the last one. REQUIRES: there are some.
size_t first_with(std::span<const Candidate> candidates, const Ranks& ranks);

// The first index below `count` for which `holds`, which is monotone, is true; `count` if none.
// Begins at `start` and strides outwards, so that a good guess saves calls. Fails as `holds` does.
Result<size_t> first_index(size_t count, size_t start,
                           const std::function<Result<bool>(size_t)>& holds);

// Ranks for all layers together: which layer loses how much, so that the whole network meets a
// target. Numbers only.

struct RankOption {
  std::vector<double> costs;  // of each kind
  double lost = 0;            // share of its output that it misses
};

// An option for each layer, so that each kind of cost totals at most `most` and little is lost;
// nullopt if impossible. Layers begin with option 0, and step by step the layer that loses least
// for what it saves takes its next option: optimal with one kind of cost among choices that cost as
// little. Pure. REQUIRES: every layer has an option, every option has a cost of each kind.
std::optional<std::vector<size_t>> choose_ranks(std::span<const std::vector<RankOption>> layers,
                                                std::span<const double> most);

}  // namespace shoal::compress
