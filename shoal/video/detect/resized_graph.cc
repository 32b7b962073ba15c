#include "shoal/video/detect/resized_graph.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace shoal::detect {
namespace {

// The target of a Reshape that made `target` of `from`, which is `now` instead. Dimensions that it
// kept at either end stay, and the largest of the others for which there is a size changes.
Result<Tensor> fitted_target(const Shape& from, const Shape& now, const Shape& target) {
  const size_t rank = target.rank(), most = std::min(rank, from.rank());
  const auto stays = [&](size_t in, size_t out) {
    return from[in] == target[out] && from[in] == now[in];
  };
  size_t begin = 0, end = rank;
  while (begin < most && stays(begin, begin)) ++begin;
  while (end > begin && rank - end < most && stays(from.rank() - 1 - (rank - end), end - 1)) --end;
  std::vector<size_t> by_size;
  for (size_t i = begin; i < end; ++i) by_size.push_back(i);
  std::ranges::sort(by_size, [&](size_t a, size_t b) { return target[a] > target[b]; });
  for (const size_t axis : by_size) {
    const int64_t rest = target[axis] > 0 ? target.count() / target[axis] : 0;
    if (rest == 0 || now.count() % rest != 0) continue;
    Tensor fitted({DType::kI64, {static_cast<int64_t>(rank)}});
    for (size_t i = 0; i < rank; ++i) {
      fitted.data<int64_t>()[i] = i == axis ? now.count() / rest : target[i];
    }
    return fitted;
  }
  return invalid("no dimension of " + to_string(target) + " can be changed to have " +
                 std::to_string(now.count()) + " elements");
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
    if (node.op->name == "Reshape" && resized[inputs[0]].type != graph[node.inputs[0]].type) {
      SHOAL_ASSIGN(Tensor target,
                   fitted_target(graph[node.inputs[0]].type.shape, resized[inputs[0]].type.shape,
                                 graph[node.outputs[0]].type.shape));
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
