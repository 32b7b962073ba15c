// Merges equal computations: nodes of the same operator with the same inputs and attributes become
// one, and so do constants with the same elements. Random nodes are never merged.
#include <string>
#include <unordered_map>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/equal.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// Larger constants are equal only if they lie in the same place: comparing weights would read a
// whole mapped model from the disk.
constexpr size_t kMaxComparedBytes = 4096;

std::string key_of(const Tensor& tensor) {
  std::string key;
  if (tensor.bytes().size() <= kMaxComparedBytes) {
    append_key(key, tensor);
    return key;
  }
  return to_string(tensor.type()) +
         std::to_string(reinterpret_cast<uintptr_t>(tensor.bytes().data()));
}

std::string key_of(const Node& node, std::span<const ValueId> inputs) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(node.op)) + ":" +
                    std::to_string(node.outputs.size());
  for (ValueId id : inputs) key += "," + std::to_string(static_cast<int32_t>(id));
  key += ":";
  append_key(key, node.attributes);
  return key;
}

class Merger {
 public:
  explicit Merger(const Graph& graph) : graph_(graph) {
    // A constant that is an output of the graph keeps its name.
    for (ValueId id : graph.outputs()) outputs_.insert(id);
  }

  // Constants first, so that nodes which read equal constants get equal keys.
  bool merge(Rewriter& rewriter, const Node& node) {
    for (ValueId id : node.inputs) merge_constant(rewriter, id);
    if (node.op->random) return false;
    const auto [first, is_new] = nodes_.emplace(key_of(node, rewriter.map(node.inputs)), &node);
    if (is_new) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      rewriter.replace(node.outputs[i], rewriter.map(first->second->outputs[i]));
    }
    return true;
  }

 private:
  void merge_constant(Rewriter& rewriter, ValueId id) {
    if (id == kNoValue || !graph_[id].constant || outputs_.contains(id)) return;
    if (!met_.insert(id).second) return;
    const auto [first, is_new] = constants_.emplace(key_of(*graph_[id].constant), id);
    if (!is_new) rewriter.replace(id, rewriter.map(first->second));
  }

  const Graph& graph_;
  std::unordered_set<ValueId> outputs_;
  std::unordered_set<ValueId> met_;
  std::unordered_map<std::string, ValueId> constants_;
  std::unordered_map<std::string, const Node*> nodes_;
};

}  // namespace

Result<Graph> merge_equal(const Graph& graph) {
  Merger merger(graph);
  return rewrite(
      graph, [&](Rewriter& rewriter, const Node& node) { return merger.merge(rewriter, node); });
}

}  // namespace shoal::passes
