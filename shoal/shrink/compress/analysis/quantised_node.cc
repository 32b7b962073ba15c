#include "shoal/shrink/compress/analysis/quantised_node.h"

#include <algorithm>

namespace shoal::compress {

const Node* quantised_node(const Graph& graph) {
  const auto is_byte = [&](ValueId id) {
    const DType dtype = graph[id].type.dtype;
    return dtype == DType::kI8 || dtype == DType::kU8;
  };
  const auto is_byte_constant = [&](ValueId id) {
    return id != kNoValue && graph[id].constant && is_byte(id);
  };
  const auto is_real = [&](ValueId id) {
    return id != kNoValue && Floats::contains(graph[id].type.dtype);
  };
  for (const Node& node : graph.nodes()) {
    if (std::ranges::any_of(node.inputs, is_byte_constant) ||
        (std::ranges::any_of(node.inputs, is_real) && is_byte(node.outputs[0]))) {
      return &node;
    }
  }
  return nullptr;
}

}  // namespace shoal::compress
