// Fine-grain cross partition (mao 1.3.5): which outliers the hub computes. A unit is what one part
// has in one column. The hub has the input and takes the output in any case, so a unit that it
// computes saves one value, as long as another part still needs the column. With
// time[p] = work / speed + values * seconds per value:
//
//   p = the slowest part with a unit left,  u = its unit with fewest non-zeros
//   u goes to the hub, unless that made the hub finish after the slowest part
//
// The source lets columns belong to parts before that. Here the last part of a column gets it:
// otherwise a part with slightly more work than others has most columns, and no unit to give away.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/sparse/clusters.h"

namespace shoal::plan {

// Sets the counts (column_counts()) of units that go to the hub to zero, and returns the units,
// sorted by part and column. Every column keeps a part. REQUIRES: `row_parts` are those of
// `counts`.
std::vector<OutlierUnit> take_units_for_hub(std::span<uint32_t> counts,
                                            std::span<const size_t> row_parts,
                                            const ClusterWorkers& workers);

}  // namespace shoal::plan
