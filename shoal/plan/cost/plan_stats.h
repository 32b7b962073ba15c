// Plan statistics: figures of a plan that need no clock.
#pragma once

#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// Bytes that several workers read of one value, every time but the first: the halos of rows and
// grids, and all but one copy of the input of a split by channels.
int64_t halo_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule);

// The most that the nodes of a part read and write at a time, weights apart.
double activation_bytes(const Graph& graph, const Part& part);

// By worker: the weights of its tasks, and what the largest task reads and computes.
std::vector<double> memory_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule,
                                 size_t workers);

std::vector<int> workers_of(const Plan& plan);  // in order, each once

}  // namespace shoal::plan
