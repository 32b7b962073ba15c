#include "shoal/model/passes/fusion/quantized.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

constexpr size_t kScale = 1, kZeroPoint = 2;

// Subnormal scales would overflow where they divide. Models have none.
bool are_scales(const Tensor* scales) {
  return scales != nullptr && scales->dtype() == DType::kF32 &&
         std::ranges::all_of(scales->data<float>(),
                             [](float s) { return std::isnormal(s) && s > 0; });
}

std::optional<Quantized> parameters_of(Rewriter& rewriter, const Node& node) {
  const Graph& from = rewriter.from();
  const bool has_zero_point =
      node.inputs.size() > kZeroPoint && node.inputs[kZeroPoint] != kNoValue;
  if (!are_scales(constant(from, node.inputs[kScale]))) return std::nullopt;
  if (has_zero_point && constant(from, node.inputs[kZeroPoint]) == nullptr) return std::nullopt;
  Quantized value;
  value.scale = rewriter.map(node.inputs[kScale]);
  if (has_zero_point) value.zero_point = rewriter.map(node.inputs[kZeroPoint]);
  return value;
}

// The inputs of DequantizeLinear or QuantizeLinear for x with these parameters.
std::vector<Tensor> with_parameters(const Graph& graph, Tensor x, const Quantized& value) {
  std::vector<Tensor> inputs{std::move(x), *constant(graph, value.scale)};
  inputs.push_back(value.zero_point == kNoValue ? Tensor({value.dtype, inputs[1].shape()})
                                                : *constant(graph, value.zero_point));
  return inputs;
}

// Runs one node by its reference. Passes compute tables with it, so these round as the nodes do.
Tensor evaluate(const Node& node, const std::vector<Tensor>& inputs, DType dtype) {
  std::vector<Tensor> outputs{Tensor({dtype, inputs[0].shape()})};
  node.op->reference(node, inputs, outputs);
  return outputs[0];
}

std::optional<Quantized> dequantized_by(Rewriter& rewriter, const Node& node) {
  const Graph& from = rewriter.from();
  std::optional<Quantized> value = parameters_of(rewriter, node);
  if (!value) return std::nullopt;
  value->integers = rewriter.map(node.inputs[0]);
  value->dtype = from[node.inputs[0]].type.dtype;
  const auto rank = static_cast<int64_t>(from[node.inputs[0]].type.shape.rank());
  value->axis = node.integer("axis", 1);
  if (value->axis < 0) value->axis += rank;
  return value;
}

}  // namespace

std::optional<Quantized> quantized_by(Rewriter& rewriter, const Node& node) {
  const Graph& from = rewriter.from();
  if (from[node.inputs[0]].type.dtype != DType::kF32) return std::nullopt;
  std::optional<Quantized> value = parameters_of(rewriter, node);
  if (!value || !has_one_scale(rewriter.to(), *value)) return std::nullopt;
  value->dtype = from[node.outputs[0]].type.dtype;
  return ops::Bytes::contains(value->dtype) ? value : std::nullopt;
}

std::vector<float> scales_of(const Graph& graph, const Quantized& value) {
  const auto scales = constant(graph, value.scale)->data<float>();
  return {scales.begin(), scales.end()};
}

bool has_one_scale(const Graph& graph, const Quantized& value) {
  return graph[value.scale].type.shape.count() == 1;
}

int64_t zero_point_of(const Graph& graph, const Quantized& value) {
  return static_cast<int64_t>(scalar(graph, value.zero_point).value_or(0));
}

bool has_same_parameters(const Graph& graph, const Quantized& a, const Quantized& b) {
  return a.dtype == b.dtype && has_one_scale(graph, a) && has_one_scale(graph, b) &&
         scalar(graph, a.scale) == scalar(graph, b.scale) &&
         zero_point_of(graph, a) == zero_point_of(graph, b);
}

ValueId zero_point_for(Rewriter& rewriter, const Node& node, const Quantized& value,
                       std::string_view role) {
  if (value.zero_point != kNoValue) return value.zero_point;
  return rewriter.add_constant(node, std::string(role) + "_zero_point",
                               Tensor({value.dtype, rewriter.to()[value.scale].type.shape}));
}

bool QuantizedValues::remember(Rewriter& rewriter, const Node& node) {
  if (rewriter.from()[node.outputs[0]].type.dtype != DType::kF32) return false;
  if (!rewriter.copy(node).ok()) return false;
  if (const auto value = dequantized_by(rewriter, node)) {
    remember(rewriter.map(node.outputs[0]), *value);
  }
  return true;
}

const Quantized* QuantizedValues::find(Rewriter& rewriter, ValueId old) const {
  // A constant is never the result of DequantizeLinear, and mapping it would add it to the new
  // graph.
  if (old == kNoValue || rewriter.from()[old].constant) return nullptr;
  const auto it = values_.find(rewriter.map(old));
  return it == values_.end() ? nullptr : &it->second;
}

const Quantized* QuantizedValues::find_bytes(Rewriter& rewriter, ValueId old) const {
  const Quantized* value = find(rewriter, old);
  const bool fits = value != nullptr && ops::Bytes::contains(value->dtype) &&
                    has_one_scale(rewriter.to(), *value);
  return fits ? value : nullptr;
}

std::optional<std::vector<float>> reals_of(const Graph& graph, const Quantized& value) {
  const Tensor* integers = constant(graph, value.integers);
  const Shape& scales = graph[value.scale].type.shape;
  if (integers == nullptr || (scales.count() != 1 && scales.count() != integers->count())) {
    return std::nullopt;
  }
  const Node node{&ops::dequantize_linear, {}, {}, {{"axis", value.axis}}, {}};
  const Tensor reals = evaluate(node, with_parameters(graph, *integers, value), DType::kF32);
  return std::vector<float>(reals.data<float>().begin(), reals.data<float>().end());
}

std::optional<std::vector<int32_t>> to_sums(const std::vector<float>& reals,
                                            const std::vector<float>& scales) {
  constexpr double kMost = 1 << 30;
  std::vector<int32_t> sums;
  for (size_t i = 0; i < reals.size(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : i];
    const double sum = std::nearbyint(static_cast<double>(reals[i]) / scale);
    if (!(std::abs(sum) < kMost)) return std::nullopt;
    sums.push_back(static_cast<int32_t>(sum));
  }
  return sums;
}

Tensor table_of(Rewriter& rewriter, const Quantized& from, const std::vector<const Node*>& f,
                const Quantized& to) {
  Tensor x({from.dtype, {256}});
  for (size_t i = 0; i < x.bytes().size(); ++i) x.bytes()[i] = static_cast<std::byte>(i);
  const Graph& graph = rewriter.to();
  const Node dequantize{&ops::dequantize_linear, {}, {}, {}, {}};
  const Node quantize{&ops::quantize_linear, {}, {}, {}, {}};
  x = evaluate(dequantize, with_parameters(graph, x, from), DType::kF32);
  for (const Node* node : f) {
    std::vector<Tensor> inputs{x};
    for (size_t i = 1; i < node->inputs.size(); ++i) {
      const Tensor* more = constant(rewriter.from(), node->inputs[i]);
      inputs.push_back(more == nullptr ? Tensor() : *more);
    }
    x = evaluate(*node, inputs, DType::kF32);
  }
  return evaluate(quantize, with_parameters(graph, x, to), to.dtype);
}

}  // namespace shoal::passes
