// Search: the segments and layouts with the least estimated time, found cut after cut.
#pragma once

#include <vector>

#include "shoal/plan/search/candidates.h"

namespace shoal::plan {

struct SearchOptions {
  std::vector<size_t> layouts;  // that may be used
  bool forced = false;          // one worker only for what no other layout can do
  size_t most_nodes = 1 << 20;  // in a segment that is cut
  size_t width = 16;            // ways kept at each cut,
  size_t of_one_layout = 2;     // how many of them have the same last layout
};

// Chains from the first node to the last, by their estimated time, the best first; none if these
// layouts make none. Candidates outlive the chains.
std::vector<Chain> search(Candidates& candidates, const SearchOptions& options);

// Local search: improves a plan by small changes, each tried in the simulation.

// Simulated time until the answer. Infinity if a worker lacks memory.
double simulated_seconds(const Candidates& candidates, const Chain& chain);

// Changes the layout of a segment, joins two, cuts one in two, or moves a share from one worker to
// another, as long as that helps and at most `tries` times. The result is never slower than
// `chain`.
Chain local_search(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts,
                   size_t tries);

}  // namespace shoal::plan
