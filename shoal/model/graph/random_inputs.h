// Random inputs for a graph, for measurements and tests.
#pragma once

#include <random>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal {

// One tensor per input of the graph, in order, filled as by model/tensor/random_tensor.h.
std::vector<Tensor> random_inputs(const Graph& graph, std::mt19937& rng);

}  // namespace shoal
