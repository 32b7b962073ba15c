// Local search: improves a plan by small changes, each tried in the simulation.
#pragma once

#include <vector>

#include "shoal/plan/search/candidates.h"

namespace shoal::plan {

// Simulated time until the answer. Infinity if a worker lacks memory.
double simulated_seconds(const Candidates& candidates, const Chain& chain);

// Changes the layout of a segment, joins two, cuts one in two, or moves a share from one worker to
// another, as long as that helps and at most `tries` times. The result is never slower than
// `chain`.
Chain local_search(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts,
                   size_t tries);

}  // namespace shoal::plan
