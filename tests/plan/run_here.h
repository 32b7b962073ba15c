// Runs a plan in one process: the expected answer of all other ways.
#pragma once

#include <map>
#include <vector>

#include "random_plan.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

// By lost worker: the segment from which on it does nothing.
using Losses = std::map<int, size_t>;

// Tasks see only the pieces that the schedule sends them or that they computed themselves.
std::vector<Tensor> run_here(const Graph& graph, const Plan& plan, Device& device,
                             const std::vector<Tensor>& inputs, const Losses& losses = {});

// The same graph as a whole.
std::vector<Tensor> run_whole(const Graph& graph, Device& device,
                              const std::vector<Tensor>& inputs);

// A network of the zoo, as the passes leave it.
Graph optimized(std::string_view name);

std::vector<Tensor> random_inputs(Rng& rng, const Graph& graph);

}  // namespace shoal::plan
