#include "shoal/model/graph/random_inputs.h"

#include "shoal/model/tensor/random_tensor.h"

namespace shoal {

std::vector<Tensor> random_inputs(const Graph& graph, std::mt19937& rng) {
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) inputs.push_back(random_tensor(graph[id].type, rng));
  return inputs;
}

}  // namespace shoal
