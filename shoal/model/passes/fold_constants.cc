// Computes nodes whose inputs are all constants. Nodes that would make the model much larger, as
// Tile and Expand can, or that would take long, stay as they are.
#include <algorithm>

#include "shoal/base/checked.h"
#include "shoal/base/limits.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// The most that a result may be larger than its inputs: weights of 8 bits become 32.
constexpr int64_t kMaxGrowth = 4;
constexpr int64_t kSmall = int64_t{1} << 20;  // bytes; smaller inputs count as this much

// The work of all nodes together, in multiply-accumulates and elements: about a second in plain
// loops. It is enough to transpose the weights of VGG-16.
constexpr int64_t kMaxWork = int64_t{1} << 28;

int64_t bytes_of(std::span<const TensorType> types) {
  Checked bytes = 0;
  for (const TensorType& type : types) bytes = bytes + static_cast<int64_t>(type.bytes());
  return bytes.value();
}

int64_t elements_of(std::span<const TensorType> types) {
  Checked elements = 0;
  for (const TensorType& type : types) elements = elements + type.shape.count();
  return elements.value();
}

class ConstantFolding {
 public:
  explicit ConstantFolding(const Graph& graph) : graph_(graph) {}

  bool fold(Rewriter& rewriter, const Node& node) {
    const std::vector<ValueId> inputs = rewriter.map(node.inputs);
    if (node.op->random || !all_constant(rewriter.to(), inputs)) return false;
    // A view shares the elements of its constant, so it costs nothing whatever its size.
    if (is_view(graph_, node)) {
      const Tensor& whole = *rewriter.to()[inputs[0]].constant;
      put(rewriter, node.outputs[0], whole.reshaped(graph_[node.outputs[0]].type.shape));
      return true;
    }
    if (!is_worth(node)) return false;
    std::vector<Tensor> in, out;
    for (ValueId id : inputs) {
      in.push_back(id == kNoValue ? Tensor() : *rewriter.to()[id].constant);
    }
    for (ValueId id : node.outputs) out.emplace_back(graph_[id].type);
    node.op->reference(node, in, out);
    for (size_t i = 0; i < out.size(); ++i) put(rewriter, node.outputs[i], out[i]);
    // The inputs are usually dead now. If they are part of a mapped file, their pages can go.
    for (const Tensor& tensor : in) tensor.release_pages();
    return true;
  }

 private:
  static bool all_constant(const Graph& graph, std::span<const ValueId> inputs) {
    return std::ranges::all_of(
        inputs, [&](ValueId id) { return id == kNoValue || graph[id].constant.has_value(); });
  }

  // Whether the work of the node is known from its elements and multiply-accumulates. That of a
  // pool is not: its window may be as large as its image. QuantizeLinear and DequantizeLinear do
  // not claim `linear_time`, or models would lose them when they are bound, before fold_qdq.
  static bool is_predictable(const Node& node) {
    return node.op->linear_time || node.op->macs != nullptr || node.op == &ops::quantize_linear ||
           node.op == &ops::dequantize_linear;
  }

  // Whether the node is within the limits. If so, its work is charged to the budget.
  bool is_worth(const Node& node) {
    if (!is_predictable(node)) return false;
    std::vector<ValueId> given = node.inputs;
    std::erase(given, kNoValue);
    const auto from = graph_.types(given), to = graph_.types(node.outputs);
    if (bytes_of(to) / kMaxGrowth > std::max(bytes_of(from), kSmall)) return false;
    const Checked work = Checked(elements_of(from)) + elements_of(to) + macs(graph_, node);
    if (work.value() > work_left_ || bytes_of(to) > bytes_left_) return false;
    work_left_ -= work.value();
    bytes_left_ -= bytes_of(to);
    return true;
  }

  void put(Rewriter& rewriter, ValueId old, Tensor tensor) const {
    rewriter.replace(old, rewriter.to().add_constant(graph_[old].name, std::move(tensor)));
  }

  const Graph& graph_;
  int64_t work_left_ = kMaxWork;
  int64_t bytes_left_ = kLimits.max_folded_bytes;
};

}  // namespace

Result<Graph> fold_constants(const Graph& graph) {
  ConstantFolding folder(graph);
  return rewrite(graph,
                 [&](Rewriter& rewriter, const Node& node) { return folder.fold(rewriter, node); });
}

}  // namespace shoal::passes
