// Moves Transposes forward past element-wise nodes, to the first reader that depends on the order
// of axes. On the way they are composed with other Transposes, and a composition that is the
// identity disappears.
//
//   f(Transpose(x)) = Transpose(f(x))    Transpose_p(Transpose_q(x)) = Transpose_(q o p)(x)
#include <algorithm>
#include <unordered_map>

#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

using Permutation = std::vector<size_t>;

// A Transpose that is not added yet: axis d of the value is axis permutation[d] of the source.
struct PutOff {
  ValueId source;  // in the new graph
  Permutation permutation;
};

Attributes perm_attribute(const Permutation& permutation) {
  return {{"perm", std::vector<int64_t>(permutation.begin(), permutation.end())}};
}

// The constant with its axes permuted back, so that it broadcasts to the values before the
// Transpose. nullopt if more than one of its axes is longer than 1: the elements would have to
// move, too.
std::optional<Tensor> before(const Tensor& constant, const Permutation& permutation) {
  if (constant.count() == 1) return constant;
  const Shape& shape = constant.shape();
  if (shape.rank() > permutation.size()) return std::nullopt;
  const size_t missing = permutation.size() - shape.rank();
  Shape result = Shape::filled(permutation.size(), 1);
  for (size_t d = 0; d < shape.rank(); ++d) result[permutation[missing + d]] = shape[d];
  const bool is_line = std::ranges::count(shape, 1) + 1 >= std::ssize(std::span(shape));
  return is_line ? std::optional(constant.reshaped(result)) : std::nullopt;
}

class Canceller {
 public:
  explicit Canceller(const Graph& graph) : graph_(graph), links_(graph), rewriter_(graph) {}

  Result<Graph> run() {
    for (const Node& node : graph_.nodes()) {
      if (node.op == &ops::transpose) {
        put_off(node);
      } else if (!pass(node)) {
        for (ValueId id : node.inputs) SHOAL_TRY(make(id));
        SHOAL_TRY(rewriter_.copy(node));
      }
    }
    for (ValueId id : graph_.outputs()) SHOAL_TRY(make(id));
    return rewriter_.finish();
  }

 private:
  const PutOff* find(ValueId id) const {
    const auto it = waiting_.find(id);
    return it == waiting_.end() ? nullptr : &it->second;
  }

  // A Transpose reads a value that may be waiting itself. The two become one from the earlier
  // source.
  void put_off(const Node& transpose) {
    PutOff result{kNoValue, permutation(graph_, transpose)};
    if (const PutOff* earlier = find(transpose.inputs[0])) {
      result.source = earlier->source;
      for (size_t& axis : result.permutation) axis = earlier->permutation[axis];
    } else {
      result.source = rewriter_.map(transpose.inputs[0]);
    }
    if (std::ranges::is_sorted(result.permutation)) {
      rewriter_.replace(transpose.outputs[0], result.source);
    } else {
      waiting_.emplace(transpose.outputs[0], std::move(result));
    }
  }

  // Adds the Transpose of this value, if one is waiting, for a reader that needs it.
  Status make(ValueId id) {
    const auto it = id == kNoValue ? waiting_.end() : waiting_.find(id);
    if (it == waiting_.end()) return {};
    SHOAL_ASSIGN(const ValueId made,
                 rewriter_.to().add(ops::transpose, {it->second.source},
                                    perm_attribute(it->second.permutation), graph_[id].name));
    rewriter_.replace(id, made);
    waiting_.erase(it);
    return {};
  }

  // The permutation that all inputs of the node are waiting for; null if they differ. Each input
  // must be read by this node alone, or its Transpose would be needed anyway.
  const Permutation* common(const Node& node) const {
    const Permutation* shared = nullptr;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || graph_[id].constant) continue;
      const PutOff* input = find(id);
      if (input == nullptr || links_.only_reader(id) != &node) return nullptr;
      if (shared != nullptr && *shared != input->permutation) return nullptr;
      shared = &input->permutation;
    }
    return shared;
  }

  // Adds an element-wise node on the sources of its inputs, before their Transposes, and puts the
  // Transpose off to its output.
  bool pass(const Node& node) {
    const bool is_elementwise = node.op->split == ops::split_elementwise || node.op == &ops::clip;
    const Permutation* shared = is_elementwise ? common(node) : nullptr;
    if (shared == nullptr || node.outputs.size() != 1) return false;
    const Permutation axes = *shared;
    if (graph_[node.outputs[0]].type.shape.rank() != axes.size()) return false;
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      if (id == kNoValue || !graph_[id].constant) {
        inputs.push_back(id == kNoValue ? id : find(id)->source);
        continue;
      }
      const std::optional<Tensor> tensor = before(*graph_[id].constant, axes);
      if (!tensor) return false;
      inputs.push_back(rewriter_.to().add_constant(graph_[id].name, *tensor));
    }
    auto made =
        rewriter_.to().add_node(*node.op, std::move(inputs), node.attributes, {""}, node.name);
    // PRelu, for example, broadcasts in one direction only and may refuse the permuted slope. The
    // node is then copied as it was.
    if (!made.ok()) return false;
    waiting_.emplace(node.outputs[0], PutOff{(*made)[0], axes});
    return true;
  }

  const Graph& graph_;
  UseDefs links_;
  Rewriter rewriter_;
  std::unordered_map<ValueId, PutOff> waiting_;
};

std::ptrdiff_t count_transposes(const Graph& graph) {
  return std::ranges::count(graph.nodes(), &ops::transpose, &Node::op);
}

}  // namespace

Result<Graph> cancel_transposes(const Graph& graph) {
  if (count_transposes(graph) == 0) return graph;
  SHOAL_ASSIGN(Graph fewer, Canceller(graph).run());
  // Moving Transposes without removing one only makes the graph harder for other passes to match.
  if (count_transposes(fewer) < count_transposes(graph)) return fewer;
  return graph;
}

}  // namespace shoal::passes
