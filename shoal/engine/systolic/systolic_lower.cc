#include "shoal/engine/systolic/systolic_device.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/coding/products.h"

namespace shoal::systolic {
namespace {

// The scale is computed in the operator's own order. REQUIRES: a has one scale.
Result<ValueId> append_integer_matmul(std::span<const ValueId> inputs, Graph& graph) {
  SHOAL_ASSIGN(const ValueId sums,
               graph.add(ops::mat_mul_integer, {inputs[0], inputs[3], inputs[2], inputs[5]}));
  SHOAL_ASSIGN(ValueId scale, graph.add(ops::mul, {inputs[1], inputs[4]}));
  SHOAL_ASSIGN(scale, graph.add(ops::div, {scale, inputs[6]}));
  return ops::append_requantize(sums, scale, inputs[7], graph);
}

Result<ValueId> append_lowered(const Node& node, std::vector<ValueId> inputs, Graph& graph) {
  if (node.op == &ops::q_linear_mat_mul) return append_integer_matmul(inputs, graph);
  return plan::append_lowered(node, std::move(inputs), graph);
}

bool is_candidate(const Graph& graph, const Node& node) {
  const auto& input = [&](size_t i) -> const Value& { return graph[node.inputs[i]]; };
  if (node.op == &ops::q_linear_mat_mul) return input(1).type.shape.count() == 1;
  if (node.op == &ops::q_gemm) {  // weights are transposed here and now
    return node.integer("transB", 0) == 0 || input(3).constant.has_value();
  }
  return node.op == &ops::q_linear_conv || node.op == &ops::fused_q_linear_conv;
}

// Whether the new nodes take the parameters' shapes, tried on a graph of its own.
bool can_lower(const Graph& graph, const Node& node) {
  if (!is_candidate(graph, node)) return false;
  Graph trial;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    inputs.push_back(id == kNoValue       ? kNoValue
                     : graph[id].constant ? trial.add_constant("x", *graph[id].constant)
                                          : trial.add_input("x", graph[id].type));
  }
  const Result<ValueId> y = append_lowered(node, inputs, trial);
  return y.ok() && trial[*y].type == graph[node.outputs[0]].type;
}

}  // namespace

// Fused operators become QLinearConv first, hence the rounds: each removes a layer of fusion.
Result<Graph> lower_quantized(const Graph& graph) {
  Graph lowered = graph;
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    passes::Rewriter rewriter(lowered);
    for (const Node& node : lowered.nodes()) {
      if (!can_lower(lowered, node)) {
        SHOAL_TRY(rewriter.copy(node));
        continue;
      }
      SHOAL_ASSIGN(const ValueId y, append_lowered(node, rewriter.map(node.inputs), rewriter.to()));
      rewriter.replace(node.outputs[0], y);
      has_changed = true;
    }
    SHOAL_ASSIGN(Graph next, rewriter.finish());
    lowered = std::move(next);
  }
  return lowered;
}

}  // namespace shoal::systolic
