#include "shoal/detect/resized_graph.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace shoal::detect {
namespace {

// The shape of a Reshape whose input has this many elements now.
Result<Tensor> fitted_target(const Shape& shape, int64_t count) {
  std::vector<size_t> by_size(shape.rank());
  for (size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::ranges::sort(by_size, [&](size_t a, size_t b) { return shape[a] > shape[b]; });
  for (const size_t axis : by_size) {
    const int64_t rest = shape[axis] > 0 ? shape.count() / shape[axis] : 0;
    if (rest == 0 || count % rest != 0) continue;
    Tensor target({DType::kI64, {static_cast<int64_t>(shape.rank())}});
    for (size_t i = 0; i < shape.rank(); ++i) {
      target.data<int64_t>()[i] = i == axis ? count / rest : shape[i];
    }
    return target;
  }
  return invalid("no dimension of " + to_string(shape) + " can be changed to have " +
                 std::to_string(count) + " elements");
}

}  // namespace

Result<Graph> resized_graph(const Graph& graph, const Shape& input) {
  if (graph.inputs().size() != 1) return invalid("a network of several inputs cannot be resized");
  Graph resized;
  std::vector<ValueId> now(graph.value_count(), kNoValue);
  const auto at = [&](ValueId id) -> ValueId& { return now[static_cast<size_t>(id)]; };
  const ValueId x = graph.inputs()[0];
  at(x) = resized.add_input(graph[x].name, {graph[x].type.dtype, input});
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const Value& value = graph[static_cast<ValueId>(i)];
    if (value.constant) now[i] = resized.add_constant(value.name, *value.constant);
  }
  for (const Node& node : graph.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? id : at(id));
    std::vector<std::string> names;
    for (const ValueId id : node.outputs) names.push_back(graph[id].name);
    const Shape& shape = graph[node.outputs[0]].type.shape;
    const int64_t count = resized[inputs[0]].type.shape.count();
    if (node.op->name == "Reshape" && count != shape.count()) {
      SHOAL_ASSIGN(Tensor target, fitted_target(shape, count));
      inputs[1] = resized.add_constant("target", std::move(target));
    }
    SHOAL_ASSIGN(const auto outputs, resized.add_node(*node.op, std::move(inputs), node.attributes,
                                                      std::move(names), node.name));
    for (size_t i = 0; i < outputs.size(); ++i) at(node.outputs[i]) = outputs[i];
  }
  for (const ValueId id : graph.outputs()) resized.mark_output(at(id));
  return resized;
}

}  // namespace shoal::detect
