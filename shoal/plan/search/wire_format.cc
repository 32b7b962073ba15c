// Rounding on the wire. The errors of rounded values are assumed to add up, so the choice is a
// knapsack: each rounding costs its error and saves bytes. A greedy choice, the largest values
// first, is good enough, for error costs are equal and only sizes differ.
#include "shoal/plan/search/wire_format.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::plan {
namespace {

// The node that converts the input back to f32 for a reader; null if there is none.
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
Tensor in_eight_bits(const Tensor& values, float scale) {
  Tensor narrow({DType::kI8, values.shape()});
  std::ranges::transform(values.data<float>(), narrow.data<int8_t>().begin(), [scale](float x) {
    const float steps = std::nearbyint(x / scale);
    return std::isnan(steps) ? int8_t{0} : static_cast<int8_t>(std::clamp(steps, -128.F, 127.F));
  });
  return narrow;
}

}  // namespace

Tensor as_sent(const Graph& graph, size_t input, const Tensor& values) {
  const ValueId id = graph.inputs()[input];
  if (values.dtype() == graph[id].type.dtype || values.dtype() != DType::kF32) return values;
  const Node* widening = widening_of(graph, id);
  if (widening == nullptr) return values;
  if (graph[id].type.dtype == DType::kI8) {
    return in_eight_bits(values, graph[widening->inputs[1]].constant->data<float>()[0]);
  }
  Tensor narrow({DType::kF16, values.shape()});
  std::ranges::transform(values.data<float>(), narrow.data<Half>().begin(),
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
    const ValueId value = to.inputs()[i];
    const std::string name = graph[id].name + ".wire";
    if (graph[id].type.dtype == DType::kF16) {
      SHOAL_ASSIGN(const ValueId narrow,
                   to.add(ops::cast, {value}, {{"to", ops::onnx_number_of(DType::kF16)}}, name));
      rewriter.replace(id, narrow);
      continue;
    }
    const Node& widening = *widening_of(graph, id);
    std::vector<ValueId> inputs = {value};
    for (size_t k = 1; k < widening.inputs.size(); ++k) {
      inputs.push_back(rewriter.map(widening.inputs[k]));
    }
    SHOAL_ASSIGN(const ValueId narrow, to.add(ops::quantize_linear, std::move(inputs), {}, name));
    rewriter.replace(id, narrow);
  }
  for (const Node& node : graph.nodes()) SHOAL_TRY(rewriter.copy(node));
  return rewriter.finish();
}

namespace {

constexpr int64_t kOnnxF32 = 1, kOnnxF16 = 10;  // the numbers of Cast
constexpr float kSteps = 127;
constexpr float kLargestF16 = 65504;

using Formats = std::map<ValueId, WireFormat>;

// Values that travel and can be rounded, the most bytes first.
std::vector<ValueId> travelling(const Graph& graph, const Schedule& schedule, bool inputs) {
  std::map<ValueId, int64_t> bytes;
  for (const Transfer& transfer : schedule.transfers) {
    if ((transfer.from == kCoordinator && !inputs) || transfer.to == kCoordinator) continue;
    if (graph[transfer.piece.value].type.dtype != DType::kF32) continue;
    bytes[transfer.piece.value] += bytes_of(graph, transfer.piece);
  }
  for (ValueId id : graph.outputs()) bytes.erase(id);
  if (!inputs) {
    for (ValueId id : graph.inputs()) bytes.erase(id);
  }
  std::vector<ValueId> values;
  for (const auto& [value, count] : bytes) values.push_back(value);
  std::ranges::stable_sort(values, std::greater(), [&](ValueId id) { return bytes.at(id); });
  return values;
}

// Whether a value, as far as known, can be restored from the format.
bool can_hold(WireFormat format, const std::string& value, const WireOptions& options) {
  const auto largest = options.largest.find(value);
  if (format == WireFormat::kI8) return largest != options.largest.end();
  // Beyond it, rounding gives infinity.
  return largest == options.largest.end() || largest->second <= kLargestF16;
}

// Rounds as many values to f16 as the error allows, then as many of those to i8.
Formats choose(const Graph& graph, const std::vector<ValueId>& values, const WireOptions& options,
               double& error) {
  Formats formats;
  for (WireFormat format : {WireFormat::kF16, WireFormat::kI8}) {
    if (format > options.smallest) break;
    for (ValueId id : values) {
      const auto now = formats.find(id);
      const double more = error_of(format) - (now == formats.end() ? 0 : error_of(now->second));
      const bool holds = can_hold(format, graph[id].name, options);
      if (!holds || error + more > options.error) continue;
      formats[id] = format;
      error += more;
    }
  }
  return formats;
}

// The inputs among these values, with their types on the wire.
std::map<ValueId, DType> narrow_inputs(const Graph& graph, const Formats& formats) {
  std::map<ValueId, DType> inputs;
  for (ValueId id : graph.inputs()) {
    const auto format = formats.find(id);
    if (format == formats.end()) continue;
    inputs[id] = format->second == WireFormat::kF16 ? DType::kF16 : DType::kI8;
  }
  return inputs;
}

// Copies the graph segment by segment. A rounded value is narrowed at the end of the segment that
// computes it, and widened at the beginning of each segment that reads it.
class Writer {
 public:
  Writer(const Graph& graph, const Formats& formats, const WireOptions& options)
      : rewriter_(graph, narrow_inputs(graph, formats)), formats_(formats), options_(options) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const ValueId input = graph.inputs()[i];
      if (formats.contains(input)) narrow_[input] = rewriter_.to().inputs()[i];
    }
  }

  Result<WiredPlan> run(const Plan& plan) {
    WiredPlan wired;
    for (const Segment& segment : plan.segments) {
      const size_t begin = rewriter_.to().nodes().size();
      SHOAL_TRY(widen_inputs(segment.nodes));
      for (size_t i = segment.nodes.begin; i < segment.nodes.end; ++i) {
        SHOAL_TRY(rewriter_.copy(rewriter_.from().nodes()[i]));
      }
      SHOAL_TRY(narrow_outputs(segment.nodes));
      Segment& copy = wired.plan.segments.emplace_back(segment);
      copy.nodes = {begin, rewriter_.to().nodes().size()};
      for (Task& task : copy.tasks) {
        for (Piece& piece : task.outputs) piece.value = sent(piece.value);
      }
    }
    SHOAL_ASSIGN(wired.graph, rewriter_.finish());
    return wired;
  }

 private:
  // The value that travels in place of `value`.
  ValueId sent(ValueId value) {
    const auto narrow = narrow_.find(value);
    return narrow != narrow_.end() ? narrow->second : rewriter_.map(value);
  }

  Status widen_inputs(NodeRange nodes) {
    std::set<ValueId> read;
    for (size_t i = nodes.begin; i < nodes.end; ++i) {
      const std::vector<ValueId>& inputs = rewriter_.from().nodes()[i].inputs;
      read.insert(inputs.begin(), inputs.end());
    }
    for (const auto& [value, narrow] : narrow_) {
      if (!read.contains(value)) continue;
      SHOAL_ASSIGN(const ValueId wide, convert(value, narrow, true));
      rewriter_.replace(value, wide);
    }
    return {};
  }

  Status narrow_outputs(NodeRange nodes) {
    for (ValueId value : live_after(rewriter_.from(), nodes)) {
      if (!formats_.contains(value)) continue;
      SHOAL_ASSIGN(narrow_[value], convert(value, rewriter_.map(value), false));
    }
    return {};
  }

  Result<ValueId> convert(ValueId value, ValueId from, bool widen) {
    Graph& to = rewriter_.to();
    const std::string& name = rewriter_.from()[value].name;
    if (formats_.at(value) == WireFormat::kF16) {
      return to.add(ops::cast, {from}, {{"to", widen ? kOnnxF32 : kOnnxF16}}, name + ".wire");
    }
    // A value that was zero in all calibration runs still needs a scale above zero.
    const float largest = std::max(options_.largest.find(name)->second, 1e-30f);
    const ValueId scale =
        to.add_constant(name + ".scale", Tensor::of<float>({}, {largest / kSteps}));
    const ValueId zero = to.add_constant(name + ".zero", Tensor::of<int8_t>({}, {int8_t{0}}));
    return to.add(widen ? ops::dequantize_linear : ops::quantize_linear, {from, scale, zero}, {},
                  name + ".wire");
  }

  passes::Rewriter rewriter_;
  const Formats& formats_;
  const WireOptions& options_;
  std::map<ValueId, ValueId> narrow_;  // by old value
};

}  // namespace

std::string_view name_of(WireFormat format) {
  return format == WireFormat::kF32 ? "f32" : format == WireFormat::kF16 ? "f16" : "int8";
}

double error_of(WireFormat format) {
  // Half a step: f16 has 11 bits of mantissa, i8 here 254 steps from -largest to largest.
  return format == WireFormat::kF32 ? 0 : format == WireFormat::kF16 ? 1.0 / 2048 : 0.5 / kSteps;
}

Result<WiredPlan> with_wire_format(const Graph& graph, const Plan& plan, const Schedule& schedule,
                                   const WireOptions& options) {
  double error = 0;
  const Formats formats =
      choose(graph, travelling(graph, schedule, options.inputs), options, error);
  SHOAL_ASSIGN(WiredPlan wired, Writer(graph, formats, options).run(plan));
  wired.error = error;
  return wired;
}

}  // namespace shoal::plan
