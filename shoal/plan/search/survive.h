// Plans that survive the loss of workers, and what that costs.
#pragma once

#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Protected plans, the best first: plans for all workers, and for as many fewer as may be lost, the
// others computing parities. `options.survive` says how many.
Result<std::vector<Prediction>> make_surviving_plans(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options);

// What a search finds that knows what protection will cost: products split by channels where
// parities are cheaper than repeating rows. Not protected yet; nothing where there is none.
Result<std::vector<Prediction>> find_protectable(const Graph& graph, const ClusterProfile& cluster,
                                                 const PlanOptions& options);

// The author's cost model (R. Hadidi's dissertation, chapter 6), in devices. A layer coded over n
// data devices costs one more; a device that is in no coded layer is doubled.
double hardware_of_code(size_t data, size_t parities);  // as a multiple: 1 + r / n
size_t extra_devices_doubled(size_t devices);
size_t extra_devices_coded(size_t devices, const std::vector<size_t>& coded_layers);
// The part of all devices, redundant ones included, whose loss is survived.
double coverage(size_t devices, size_t guarded, size_t redundant);

}  // namespace shoal::plan
