#include "shoal/shrink/compress/quantization/shared_ranges.h"

#include <algorithm>
#include <array>
#include <map>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

// Sets of values that grow together.
class Sets {
 public:
  // The value that stands for a set.
  ValueId find(ValueId id) {
    const auto next = next_.find(id);
    if (next == next_.end() || next->second == id) return id;
    return next->second = find(next->second);
  }
  void join(ValueId a, ValueId b) { next_[find(b)] = find(a); }

 private:
  std::map<ValueId, ValueId> next_;
};

}  // namespace

bool keeps_elements(const Graph& graph, const Node& node) {
  static constexpr std::array kMoves = {&ops::depth_to_space, &ops::gather,
                                        &ops::max_pool,       &ops::slice,
                                        &ops::space_to_depth, &ops::transpose};
  if (node.outputs.size() != 1) return false;
  return std::ranges::find(kMoves, node.op) != kMoves.end() || passes::is_view(graph, node);
}

Ranges shared_ranges(const Graph& graph, Ranges ranges) {
  const passes::UseDefs links(graph);
  Sets sets;
  const auto join = [&](ValueId part, ValueId whole) {
    if (ranges.contains(part) && ranges.contains(whole)) sets.join(part, whole);
  };
  for (const Node& node : graph.nodes()) {
    const ValueId y = node.outputs[0];
    if (keeps_elements(graph, node)) join(node.inputs[0], y);
    if (node.op != &ops::concat) continue;
    for (ValueId part : node.inputs) {
      if (links.only_reader(part) != nullptr) join(part, y);
    }
  }
  Ranges of_sets;
  for (const auto& [id, range] : ranges) {
    Range& whole = of_sets[sets.find(id)];
    whole = {std::min(whole.low, range.low), std::max(whole.high, range.high)};
  }
  for (auto& [id, range] : ranges) range = of_sets[sets.find(id)];
  return ranges;
}

}  // namespace shoal::compress
