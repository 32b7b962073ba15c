// The choice of values. Inputs and results of products come first; then, in one pass in topological
// order, results of operators that read only such values and that engines compute on bytes. So
// few values are converted between bytes and floats, and only where an operator needs floats.
#include <algorithm>
#include <array>
#include <set>

#include "shoal/compress/product.h"
#include "shoal/compress/quantize.h"
#include "shoal/ops/ops.h"
#include "shoal/passes/use_defs.h"

namespace shoal::compress {
namespace {

// Worth it where their inputs are bytes anyway: engines compute them on bytes, or by a table.
bool carries_bytes(const Node& node) {
  static constexpr std::array kOperators = {
      &ops::add,        &ops::average_pool, &ops::clip,
      &ops::concat,     &ops::flatten,      &ops::global_average_pool,
      &ops::leaky_relu, &ops::max_pool,     &ops::relu,
      &ops::reshape,    &ops::sigmoid,      &ops::squeeze,
      &ops::transpose,  &ops::unsqueeze};
  return std::ranges::find(kOperators, node.op) != kOperators.end() && node.outputs.size() == 1;
}

class Selection {
 public:
  explicit Selection(const Graph& graph) : graph_(graph), links_(graph) {}

  std::vector<ValueId> select() {
    for (const Node& node : graph_.nodes()) {
      if (!product_of(graph_, node)) continue;
      take(node.inputs[0]);
      take(result_of(node));
    }
    for (const Node& node : graph_.nodes()) {
      if (carries_bytes(node) && reads_taken(node)) take(result_of(node));
    }
    return {taken_.begin(), taken_.end()};
  }

 private:
  void take(ValueId id) {
    const bool is_result =
        std::ranges::find(graph_.outputs(), id) != graph_.outputs().end() && !is_read_inside(id);
    if (!is_result && graph_[id].type.dtype == DType::kF32 && !graph_[id].constant) {
      taken_.insert(id);
    }
  }

  bool is_read_inside(ValueId id) const {
    return std::ranges::any_of(graph_.nodes(), [&](const Node& node) {
      return std::ranges::find(node.inputs, id) != node.inputs.end();
    });
  }

  // The value that the node effectively gives. An activation that only clamps is computed with the
  // node it follows, so that the value between them never exists.
  ValueId result_of(const Node& node) const {
    const Node* reader = links_.only_reader(node.outputs[0]);
    const bool clamps = reader != nullptr && (reader->op == &ops::relu || reader->op == &ops::clip);
    return clamps ? reader->outputs[0] : node.outputs[0];
  }

  bool reads_taken(const Node& node) const {
    const auto is_taken = [&](ValueId id) {
      // The bounds of a Clip are constants that no byte has to stand for.
      const bool is_parameter = id == kNoValue || graph_[id].type.dtype != DType::kF32 ||
                                (node.op == &ops::clip && id != node.inputs[0]);
      return is_parameter || taken_.contains(id);
    };
    return std::ranges::all_of(node.inputs, is_taken);
  }

  const Graph& graph_;
  const passes::UseDefs links_;
  std::set<ValueId> taken_;
};

}  // namespace

std::vector<ValueId> values_to_quantize(const Graph& graph) { return Selection(graph).select(); }

}  // namespace shoal::compress
