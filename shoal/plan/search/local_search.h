// Polish: a plan made better by small changes, each tried in the simulation.
#pragma once

#include <vector>

#include "shoal/plan/search/candidates.h"

namespace shoal::plan {

// When the chain's answer should be there, simulated. Infinity where memory is short.
double simulated_seconds(const Candidates& candidates, const Chain& chain);

// Changes the layout of a segment, joins two, cuts one in two, or moves some of a worker's share to
// another, as long as that helps and at most `tries` times. Uses these layouts and their shares.
Chain local_search(Candidates& candidates, Chain chain, const std::vector<size_t>& layouts,
                   size_t tries);

}  // namespace shoal::plan
