// Tabulation: a LatencyTable from the times of some networks, each the given one without random
// units. All steps are timed where they stand, between their neighbours, with the caches, layouts
// and kernels that they have there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/prune/latency/latency_table.h"
#include "shoal/shrink/prune/latency/step_times.h"

namespace shoal::shrink {

// How thoroughly to look.
struct TableOptions {
  size_t networks = 150;  // to time besides the whole one
  uint64_t seed = 1;      // what they lack
};

// A network that was timed.
struct TimedNetwork {
  Kept kept;
  NetworkTime time;
};

// Units to remove so that each group keeps a random number at which times may bend, if so many
// channels make a block. Pure.
std::vector<size_t> drawn_units(const compress::Groups& groups, uint64_t seed, int64_t block);

// The table that the times give; `networks` have lost units of `groups`, which are those of the
// graph. Pure. REQUIRES: there are networks.
LatencyTable table_of(const Graph& graph, const compress::Groups& groups,
                      std::span<const TimedNetwork> networks);

// Times networks and makes the table. Fails as compress::remove() and the timer do.
Result<LatencyTable> tabulate(const Graph& graph, const compress::Groups& groups,
                              const StepTimer& timer, const TableOptions& options = {});

}  // namespace shoal::shrink
