#include "shoal/plan/search/wire_inputs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::plan {
namespace {

// The node by which a reader has the input in f32 again; null: there is none.
const Node* widening_of(const Graph& graph, ValueId input) {
  const DType dtype = graph[input].type.dtype;
  for (const Node& node : graph.nodes()) {
    if (node.inputs.empty() || node.inputs[0] != input) continue;
    if (dtype == DType::kF16 && node.op == &ops::cast) return &node;
    if (dtype != DType::kI8 || node.op != &ops::dequantize_linear) continue;
    const Value& scale = graph[node.inputs[1]];
    if (scale.constant && scale.constant->dtype() == DType::kF32 && scale.constant->count() == 1) {
      return &node;
    }
  }
  return nullptr;
}

// As QuantizeLinear rounds, to the nearest and to even.
Tensor in_eight_bits(const Tensor& given, float scale) {
  Tensor narrow({DType::kI8, given.shape()});
  std::ranges::transform(given.data<float>(), narrow.data<int8_t>().begin(), [scale](float x) {
    const float steps = std::nearbyint(x / scale);
    return std::isnan(steps) ? int8_t{0} : static_cast<int8_t>(std::clamp(steps, -128.F, 127.F));
  });
  return narrow;
}

}  // namespace

Tensor as_sent(const Graph& graph, size_t input, const Tensor& given) {
  const ValueId id = graph.inputs()[input];
  if (given.dtype() == graph[id].type.dtype || given.dtype() != DType::kF32) return given;
  const Node* widening = widening_of(graph, id);
  if (widening == nullptr) return given;
  if (graph[id].type.dtype == DType::kI8) {
    return in_eight_bits(given, graph[widening->inputs[1]].constant->data<float>()[0]);
  }
  Tensor narrow({DType::kF16, given.shape()});
  std::ranges::transform(given.data<float>(), narrow.data<Half>().begin(),
                         [](float x) { return Half(x); });
  return narrow;
}

Result<Graph> rounding_inputs(const Graph& graph) {
  std::map<ValueId, DType> wide;
  for (ValueId id : graph.inputs()) {
    if (widening_of(graph, id) != nullptr) wide[id] = DType::kF32;
  }
  passes::Rewriter rewriter(graph, wide);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId id = graph.inputs()[i];
    if (!wide.contains(id)) continue;
    Graph& to = rewriter.to();
    const ValueId given = to.inputs()[i];
    const std::string name = graph[id].name + ".wire";
    if (graph[id].type.dtype == DType::kF16) {
      SHOAL_ASSIGN(const ValueId narrow,
                   to.add(ops::cast, {given}, {{"to", ops::onnx_number_of(DType::kF16)}}, name));
      rewriter.replace(id, narrow);
      continue;
    }
    const Node& widening = *widening_of(graph, id);
    std::vector<ValueId> inputs = {given};
    for (size_t k = 1; k < widening.inputs.size(); ++k) {
      inputs.push_back(rewriter.map(widening.inputs[k]));
    }
    SHOAL_ASSIGN(const ValueId narrow, to.add(ops::quantize_linear, std::move(inputs), {}, name));
    rewriter.replace(id, narrow);
  }
  for (const Node& node : graph.nodes()) SHOAL_TRY(rewriter.copy(node));
  return rewriter.finish();
}

}  // namespace shoal::plan
