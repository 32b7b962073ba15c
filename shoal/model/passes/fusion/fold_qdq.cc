// Replaces a float operator between DequantizeLinear and QuantizeLinear by one of integers, so that
// a quantised network computes in bytes from its first QuantizeLinear to its last DequantizeLinear.
// Operators that move elements move bytes instead; functions of one element become tables of 256
// entries.
#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/fusion/quantized.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// The rules of fold_qdq: the operator of integers for a float one that reads quantised values and
// whose result is quantised.

// The integer operators of fold_qdq.

// The place where the result of a float operator is quantised.
struct QuantizedResult {
  const Node& node;    // the QuantizeLinear
  Quantized y;         // its parameters
  ops::Bounds bounds;  // the range that Relu or Clip before it leaves
};

bool is_plain(const QuantizedResult& result) {
  return result.bounds == ops::bounds_of_type(result.y.dtype);
}

Attributes with_bounds(Attributes attributes, const QuantizedResult& result) {
  if (is_plain(result)) return attributes;
  attributes["low"] = result.bounds.low;
  attributes["high"] = result.bounds.high;
  return attributes;
}

// Collects the inputs of one integer operator, which stands for `node`.
class Inputs {
 public:
  Inputs(Rewriter& rewriter, const Node& node) : rewriter_(rewriter), node_(node) {}

  void add(ValueId id) { ids_.push_back(id); }
  // `role` is part of the name of a zero point that has to be made.
  void add_parameters(const Quantized& value, std::string_view role) {
    ids_.push_back(value.scale);
    ids_.push_back(zero_point_for(rewriter_, node_, value, role));
  }
  void add(const Quantized& value, std::string_view role) {
    ids_.push_back(value.integers);
    add_parameters(value, role);
  }
  std::vector<ValueId> take() && {
    while (ids_.back() == kNoValue) ids_.pop_back();
    return std::move(ids_);
  }

 private:
  Rewriter& rewriter_;
  const Node& node_;
  std::vector<ValueId> ids_;
};

// Weights in bytes with one scale for all, or one per index of the axis of output channels.
const Quantized* find_weights(Rewriter& rewriter, const QuantizedValues& values, ValueId old,
                              int64_t axis) {
  const Quantized* w = values.find(rewriter, old);
  if (w == nullptr || !ops::Bytes::contains(w->dtype)) return nullptr;
  return has_one_scale(rewriter.to(), *w) || w->axis == axis ? w : nullptr;
}

// A bias in units of x_scale * w_scale, the unit of the 32-bit sums; by convention it is stored so.
// One with other scales, or none, is rounded to these units, which are finer than those of any
// output.
class Bias {
 public:
  Bias(Rewriter& rewriter, const Quantized& x, const Quantized& w, int64_t channels)
      : rewriter_(rewriter), channels_(channels) {
    const float x_scale = scales_of(rewriter.to(), x)[0];
    for (float scale : scales_of(rewriter.to(), w)) scales_.push_back(x_scale * scale);
  }

  // kNoValue if there is no bias; nullopt if it cannot be expressed in these units.
  std::optional<ValueId> operator()(const QuantizedValues& values, const Node& node,
                                    ValueId old) const {
    if (old == kNoValue) return kNoValue;
    const Quantized* bias = values.find(rewriter_, old);
    if (bias != nullptr && fits(*bias)) return bias->integers;
    const auto reals = bias != nullptr ? reals_of(rewriter_.to(), *bias) : reals_of_constant(old);
    if (!reals || std::ssize(*reals) != channels_) return std::nullopt;
    const auto sums = to_sums(*reals, scales_);
    if (!sums) return std::nullopt;
    return rewriter_.add_constant(
        node, "bias", Tensor::of<int32_t>({channels_}, std::span<const int32_t>(*sums)));
  }

 private:
  bool fits(const Quantized& bias) const {
    constexpr float kRounding = 1e-4f;  // relative, in an exporter's product of scales
    const Graph& graph = rewriter_.to();
    if (graph[bias.integers].type != TensorType{DType::kI32, {channels_}}) return false;
    if (bias.zero_point != kNoValue && scalar(graph, bias.zero_point) != 0) return false;
    const std::vector<float> own = scales_of(graph, bias);
    const auto at = [](const std::vector<float>& list, size_t i) {
      return list[list.size() == 1 ? 0 : i];
    };
    for (size_t i = 0; i < std::max(own.size(), scales_.size()); ++i) {
      const float wanted = at(scales_, i);
      if (std::abs(at(own, i) - wanted) > kRounding * wanted) return false;
    }
    return true;
  }

  std::optional<std::vector<float>> reals_of_constant(ValueId old) const {
    const Tensor* bias = constant(rewriter_.from(), old);
    if (bias == nullptr || bias->dtype() != DType::kF32) return std::nullopt;
    return std::vector<float>(bias->data<float>().begin(), bias->data<float>().end());
  }

  Rewriter& rewriter_;
  const int64_t channels_;
  std::vector<float> scales_;  // one, or one per channel
};

ValueId input_of(const Node& node, size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : kNoValue;
}

bool fold_conv(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
               const Node& node) {
  const Quantized* x = values.find_bytes(rewriter, node.inputs[0]);
  const Quantized* w = find_weights(rewriter, values, node.inputs[1], 0);
  if (x == nullptr || w == nullptr) return false;
  const int64_t channels = rewriter.from()[node.inputs[1]].type.shape[0];
  const auto bias = Bias(rewriter, *x, *w, channels)(values, result.node, input_of(node, 2));
  if (!bias) return false;
  Inputs inputs(rewriter, result.node);
  inputs.add(*x, "x");
  inputs.add(*w, "w");
  inputs.add_parameters(result.y, "y");
  inputs.add(*bias);
  const Operator& op = is_plain(result) ? ops::q_linear_conv : ops::fused_q_linear_conv;
  return rewriter.substitute(result.node, op, std::move(inputs).take(),
                             with_bounds(node.attributes, result));
}

// The inputs of QGemm up to the bias; nullopt if the Gemm has attributes that QGemm lacks.
std::optional<Inputs> gemm_inputs(Rewriter& rewriter, const QuantizedValues& values,
                                  const Node& node, const Node& place) {
  const bool is_gemm = node.op == &ops::gemm;
  if (is_gemm &&
      (node.integer("transA", 0) != 0 || node.real("alpha", 1) != 1 || node.real("beta", 1) != 1)) {
    return std::nullopt;
  }
  const size_t column = is_gemm && node.integer("transB", 0) != 0 ? 0 : 1;
  const Quantized* a = values.find_bytes(rewriter, node.inputs[0]);
  const Quantized* b = find_weights(rewriter, values, node.inputs[1], static_cast<int64_t>(column));
  if (a == nullptr || b == nullptr) return std::nullopt;
  const int64_t n = rewriter.from()[node.inputs[1]].type.shape[column];
  const ValueId c = is_gemm ? input_of(node, 2) : kNoValue;
  const bool is_row = c == kNoValue || rewriter.from()[c].type.shape == Shape{n} ||
                      rewriter.from()[c].type.shape == Shape{1, n};
  const auto bias = Bias(rewriter, *a, *b, n)(values, place, c);
  if (!is_row || !bias) return std::nullopt;
  Inputs inputs(rewriter, place);
  inputs.add(*a, "a");
  inputs.add(*b, "b");
  inputs.add(*bias);
  return inputs;
}

Attributes gemm_attributes(const Node& node) {
  if (node.op != &ops::gemm || node.integer("transB", 0) == 0) return {};
  return {{"transB", int64_t{1}}};
}

bool fold_gemm(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
               const Node& node) {
  auto inputs = gemm_inputs(rewriter, values, node, result.node);
  if (!inputs) return false;
  inputs->add_parameters(result.y, "y");
  return rewriter.substitute(result.node, ops::q_gemm, std::move(*inputs).take(),
                             with_bounds(gemm_attributes(node), result));
}

bool fold_mat_mul(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                  const Node& node) {
  const Shape &a_shape = rewriter.from()[node.inputs[0]].type.shape,
              &b_shape = rewriter.from()[node.inputs[1]].type.shape;
  if (b_shape.rank() != 2) return false;
  if (a_shape.rank() == 2) return fold_gemm(rewriter, values, result, node);
  const Quantized* a = values.find_bytes(rewriter, node.inputs[0]);
  const Quantized* b = find_weights(rewriter, values, node.inputs[1], 1);
  if (a == nullptr || b == nullptr || !is_plain(result)) return false;
  Inputs inputs(rewriter, result.node);
  inputs.add(*a, "a");
  inputs.add(*b, "b");
  inputs.add_parameters(result.y, "y");
  return rewriter.substitute(result.node, ops::q_linear_mat_mul, std::move(inputs).take(), {});
}

bool fold_add(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
              const Node& node) {
  Inputs inputs(rewriter, result.node);
  for (ValueId old : node.inputs) {
    const Quantized* term = values.find_bytes(rewriter, old);
    if (term == nullptr || term->dtype != result.y.dtype) return false;
    inputs.add(*term, old == node.inputs[0] ? "a" : "b");
  }
  inputs.add_parameters(result.y, "y");
  return rewriter.substitute(result.node, ops::q_linear_add, std::move(inputs).take(),
                             with_bounds({}, result));
}

// Parts with other scales than the whole are converted to it first, each by a table.
bool fold_concat(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                 const Node& node) {
  std::vector<const Quantized*> parts;
  for (ValueId old : node.inputs) {
    parts.push_back(values.find_bytes(rewriter, old));
    if (parts.back() == nullptr || !is_plain(result)) return false;
  }
  std::vector<ValueId> inputs;
  for (const Quantized* part : parts) {
    inputs.push_back(part->integers);
    if (has_same_parameters(rewriter.to(), *part, result.y)) continue;
    const ValueId table =
        rewriter.add_constant(result.node, "table", table_of(rewriter, *part, {}, result.y));
    auto scaled = rewriter.to().add(ops::lookup, {part->integers, table}, {},
                                    rewriter.from()[result.node.outputs[0]].name + ".part");
    if (!scaled.ok()) return false;
    inputs.back() = *scaled;
  }
  return rewriter.substitute(result.node, ops::concat, std::move(inputs), node.attributes);
}

// Whether the node averages over all axes after batch and channels, and keeps them with one element
// each.
bool is_global_average(const Graph& graph, const Node& node) {
  if (node.op == &ops::global_average_pool) return true;
  if (node.op != &ops::reduce_mean || node.integer("keepdims", 1) == 0) return false;
  const auto rank = static_cast<int64_t>(graph[node.inputs[0]].type.shape.rank());
  std::vector<int64_t> axes = node.integers("axes");
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  std::vector<int64_t> spatial;
  for (int64_t d = 2; d < rank; ++d) spatial.push_back(d);
  return !spatial.empty() && axes == spatial;
}

bool fold_average(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                  const Node& node) {
  const Quantized* x = values.find_bytes(rewriter, node.inputs[0]);
  if (x == nullptr || x->dtype != result.y.dtype || !is_plain(result)) return false;
  Inputs inputs(rewriter, result.node);
  inputs.add(*x, "x");
  inputs.add_parameters(result.y, "y");
  return rewriter.substitute(result.node, ops::q_linear_global_average_pool,
                             std::move(inputs).take(), {});
}

// Puts an operator of integers in the place of the QuantizeLinear, on the quantised inputs of
// `node` that `values` knows. Returns false if there is no such operator; constants that it may
// have added by then are dead code.
bool fold_operator(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                   const Node& node) {
  if (node.op == &ops::conv) return fold_conv(rewriter, values, result, node);
  if (node.op == &ops::gemm) return fold_gemm(rewriter, values, result, node);
  if (node.op == &ops::mat_mul) return fold_mat_mul(rewriter, values, result, node);
  if (node.op == &ops::add) return fold_add(rewriter, values, result, node);
  if (node.op == &ops::concat) return fold_concat(rewriter, values, result, node);
  if (is_global_average(rewriter.from(), node)) return fold_average(rewriter, values, result, node);
  return false;
}

// The same for a Gemm whose result stays real.
bool fold_real_gemm(Rewriter& rewriter, const QuantizedValues& values, const Node& gemm) {
  auto inputs = gemm_inputs(rewriter, values, gemm, gemm);
  return inputs &&
         rewriter.substitute(gemm, ops::q_gemm, std::move(*inputs).take(), gemm_attributes(gemm));
}

// Whether every element of the output is one of input 0, chosen by its place or as the largest.
// Scales are positive, so integers have the order of the reals.
bool moves_elements(const Node& node) {
  static constexpr std::array kMoves = {
      &ops::reshape,   &ops::flatten, &ops::squeeze, &ops::unsqueeze,      &ops::identity,
      &ops::transpose, &ops::slice,   &ops::gather,  &ops::depth_to_space, &ops::space_to_depth,
      &ops::expand,    &ops::tile_,   &ops::max_pool};
  return std::ranges::find(kMoves, node.op) != kMoves.end() && node.outputs.size() == 1;
}

// Whether y_i = f(x_i) for a function f that depends on nothing but constants.
bool maps_elements(const Graph& graph, const Node& node) {
  return node.op->elementwise.f32 != nullptr &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                     [&](ValueId id) { return id == kNoValue || constant(graph, id) != nullptr; });
}

class QdqFolding {
 public:
  explicit QdqFolding(const Graph& graph) : graph_(graph), links_(graph) {}

  bool fold(Rewriter& rewriter, const Node& node) {
    if (node.op == &ops::dequantize_linear) return values_.remember(rewriter, node);
    if (node.op == &ops::quantize_linear) return fold_quantize(rewriter, node);
    if (node.op == &ops::gemm && !is_quantized_later(node)) {
      return fold_real_gemm(rewriter, values_, node);
    }
    return moves_elements(node) && move_integers(rewriter, node);
  }

 private:
  // Move(DequantizeLinear(x)) becomes DequantizeLinear(Move(x)).
  bool move_integers(Rewriter& rewriter, const Node& node) {
    const Quantized* x = values_.find_bytes(rewriter, node.inputs[0]);
    if (x == nullptr) return false;
    Quantized y = *x;
    std::vector<ValueId> inputs = rewriter.map(node.inputs);
    inputs[0] = x->integers;
    auto moved = rewriter.to().add(*node.op, std::move(inputs), node.attributes,
                                   graph_[node.outputs[0]].name + ".integers");
    if (!moved.ok()) return false;
    y.integers = *moved;
    std::vector<ValueId> parameters{y.integers, y.scale};
    if (y.zero_point != kNoValue) parameters.push_back(y.zero_point);
    if (!rewriter.substitute(node, ops::dequantize_linear, std::move(parameters), {})) return false;
    values_.remember(rewriter.map(node.outputs[0]), y);
    return true;
  }

  bool fold_quantize(Rewriter& rewriter, const Node& node) {
    const std::optional<Quantized> y = quantized_by(rewriter, node);
    if (!y) return false;
    if (fold_map(rewriter, node, *y)) return true;
    Node place = node;
    // Bounds start as the full range of the type; a clamp in between narrows them.
    QuantizedResult result{place, *y, ops::bounds_of_type(y->dtype)};
    const Node* base = only_producer(node.inputs[0]);
    if (base != nullptr && clamp(rewriter.to(), *base, result)) {
      base = only_producer(base->inputs[0]);
    }
    if (base == nullptr) return false;
    place.name = base->name;  // the name that profiles and messages show
    return fold_operator(rewriter, values_, result, *base);
  }

  // QuantizeLinear(f(DequantizeLinear(x))), where f is a chain of such functions, perhaps empty.
  // All 256 values of x are tabulated, so rounding is exactly that of the float nodes.
  bool fold_map(Rewriter& rewriter, const Node& node, const Quantized& y) {
    std::vector<const Node*> f;
    ValueId at = node.inputs[0];
    for (; values_.find_bytes(rewriter, at) == nullptr; at = f.back()->inputs[0]) {
      const Node* map = links_.producer(at);
      if (map == nullptr || !maps_elements(graph_, *map)) return false;
      f.push_back(map);
    }
    const Quantized& x = *values_.find_bytes(rewriter, at);
    if (f.empty() && has_same_parameters(rewriter.to(), x, y)) {
      rewriter.replace(node.outputs[0], x.integers);
      return true;
    }
    std::ranges::reverse(f);
    const ValueId table = rewriter.add_constant(node, "table", table_of(rewriter, x, f, y));
    return rewriter.substitute(node, ops::lookup, {x.integers, table}, {});
  }

  // If the node clamps to [low, high], narrows the bounds of the result to these, quantised. This
  // is exact, because rounding is monotonic.
  bool clamp(const Graph& to, const Node& node, QuantizedResult& result) const {
    const auto activation = ops::as_activation(node, graph_.operands(node.inputs));
    if (!activation || !activation->op->elementwise.clamps) return false;
    const float low = activation->alpha, high = activation->beta;
    if (!(low <= high)) return false;
    const float scale = scales_of(to, result.y)[0];
    const auto zero_point = static_cast<int32_t>(zero_point_of(to, result.y));
    visit<ops::Bytes>(result.y.dtype, [&]<class T>() {
      result.bounds = {ops::quantize<T>(low / scale, zero_point),
                       ops::quantize<T>(high / scale, zero_point)};
    });
    return true;
  }

  const Node* only_producer(ValueId id) const {
    return links_.only_reader(id) == nullptr ? nullptr : links_.producer(id);
  }

  // Whether the result is read by a QuantizeLinear alone, perhaps behind an activation.
  bool is_quantized_later(const Node& node) const {
    const Node* reader = links_.only_reader(node.outputs[0]);
    if (reader != nullptr && reader->op->elementwise.clamps) {
      reader = links_.only_reader(reader->outputs[0]);
    }
    return reader != nullptr && reader->op == &ops::quantize_linear;
  }

  const Graph& graph_;
  const UseDefs links_;
  QuantizedValues values_;
};

}  // namespace

Result<Graph> fold_qdq(const Graph& graph) {
  QdqFolding folder(graph);
  return rewrite(graph,
                 [&](Rewriter& rewriter, const Node& node) { return folder.fold(rewriter, node); });
}

}  // namespace shoal::passes
