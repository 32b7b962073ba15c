// Fine-grain cross partition [Mao 2017a]: which outliers the hub computes. A unit is what one part
// has in one column of another part. The hub has the input and takes the output in any case, so a
// unit that it computes saves one value. With time[p] = work / speed + values * seconds per value:
//
//   p = the slowest part with a unit left,  u = its unit with fewest non-zeros
//   u goes to the hub, unless that made the hub finish after the slowest part
//
// If the first worker is the hub, its time is that of its own work alone at the beginning, and it
// has no units to give.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/sparse/clusters.h"

namespace shoal::plan {

// `counts` are those of column_counts(). Sorted by part and column.
std::vector<OutlierUnit> units_for_hub(std::span<const uint32_t> counts,
                                       std::span<const size_t> row_parts,
                                       std::span<const size_t> column_parts,
                                       const ClusterWorkers& workers);

}  // namespace shoal::plan
