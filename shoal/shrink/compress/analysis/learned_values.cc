#include "shoal/shrink/compress/analysis/learned_values.h"

#include "shoal/model/graph/parameter.h"

namespace shoal::compress {

std::vector<bool> learned_values(const Graph& graph) {
  std::vector<bool> learned(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_parameter(graph, node, i)) learned[static_cast<size_t>(node.inputs[i])] = true;
    }
  }
  return learned;
}

}  // namespace shoal::compress
