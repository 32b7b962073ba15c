// Affine quantisation of activations and symmetric quantisation of weights:
//
//   x ~ sx * (qx - zx)     qx in [0, 255],     sx = (high - low) / 255,  zx = round(-low / sx)
//   w ~ sw[c] * qw         qw in [-127, 127],  sw[c] per output channel c (scales.h)
//   b ~ sx * sw[c] * qb    qb in i32
//
// so that sum(x * w) + b = sx * sw[c] * (sum((qx - zx) * qw) + qb): one integer sum and one factor
// per channel. Weights have no zero point, which saves a sum over x.
#include "shoal/shrink/compress/quantization/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/norm/channel_scaling.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/quantization/scales.h"

namespace shoal::compress {
namespace {

using passes::Rewriter;

struct Parameters {
  float scale = 1;
  uint8_t zero_point = 0;
};

// A range without width, or one so narrow that the scale is denormal, comes from a value that is
// zero. Any scale will do.
Parameters parameters_of(Range range) {
  const float width = range.high - range.low;
  if (!std::isnormal(width / 255)) return {};
  const float scale = width / 255;
  const float zero = std::nearbyint(-range.low / scale);
  return {scale, static_cast<uint8_t>(std::clamp(zero, 0.0f, 255.0f))};
}

class Quantizer {
 public:
  Quantizer(const Graph& graph, const Ranges& ranges, const QuantizeOptions& options)
      : graph_(graph), options_(options), rewriter_(graph) {
    Ranges taken;
    for (ValueId id : values_to_quantize(graph, options.real)) {
      if (const auto range = ranges.find(id); range != ranges.end()) taken.insert(*range);
    }
    for (const auto& [id, range] : shared_ranges(graph, std::move(taken))) {
      parameters_[id] = parameters_of(range);
    }
  }

  Result<Graph> run() {
    for (ValueId id : graph_.inputs()) SHOAL_TRY(round(id));
    for (const Node& node : graph_.nodes()) {
      SHOAL_TRY(add(node));
      for (ValueId id : node.outputs) SHOAL_TRY(round(id));
    }
    return rewriter_.finish();
  }

 private:
  Graph& to() { return rewriter_.to(); }
  std::string name(ValueId id, std::string_view role) const {
    return graph_[id].name + "." + std::string(role);
  }

  // Lets all readers of the value read it rounded to a byte.
  Status round(ValueId id) {
    const auto position = parameters_.find(id);
    if (position == parameters_.end()) return {};
    const auto [scale, zero_point] = position->second;
    const ValueId s = to().add_constant(name(id, "scale"), Tensor::of<float>({}, {scale}));
    const ValueId z =
        to().add_constant(name(id, "zero_point"), Tensor::of<uint8_t>({}, {zero_point}));
    SHOAL_ASSIGN(const ValueId bytes, to().add(ops::quantize_linear, {rewriter_.map(id), s, z}, {},
                                               name(id, "quantized")));
    SHOAL_ASSIGN(const ValueId reals,
                 to().add(ops::dequantize_linear, {bytes, s, z}, {}, name(id, "dequantized")));
    rewriter_.replace(id, reals);
    return {};
  }

  Status add(const Node& node) {
    auto product = product_of(graph_, node);
    const auto x = parameters_.find(node.inputs.empty() ? kNoValue : node.inputs[0]);
    const bool stays = !product || options_.real.contains(node.outputs[0]);
    if (stays || x == parameters_.end()) return rewriter_.copy(node);
    const std::optional<Tensor> shifted = shifted_bias(node, *product);
    if (shifted) product->bias = &*shifted;
    const std::vector<float> scales = weight_scales(*product, x->second.scale, options_.weights);
    std::vector<ValueId> inputs{rewriter_.map(node.inputs[0])};
    SHOAL_ASSIGN(const ValueId weights, add_weights(node, *product, scales));
    inputs.push_back(weights);
    if (product->bias != nullptr && options_.learns) {
      inputs.push_back(rewriter_.map(node.inputs[2]));
    } else if (product->bias != nullptr) {
      SHOAL_ASSIGN(const ValueId bias, add_bias(node, *product->bias, x->second.scale, scales));
      inputs.push_back(bias);
    }
    if (rewriter_.substitute(node, *node.op, std::move(inputs), node.attributes)) return {};
    return Status(Code::kInternal, "a quantised node was refused").at(place_of(graph_, node));
  }

  std::optional<Tensor> shifted_bias(const Node& node, const WeightedProduct& product) const {
    const auto shift = options_.shifts.find(node.outputs[0]);
    if (shift == options_.shifts.end()) return std::nullopt;
    Tensor bias = product.bias != nullptr ? product.bias->clone()
                                          : Tensor({DType::kF32, {std::ssize(shift->second)}});
    const auto elements = bias.data<float>();
    for (size_t i = 0; i < elements.size(); ++i) elements[i] += shift->second[i];
    return bias;
  }

  Result<ValueId> add_weights(const Node& node, const WeightedProduct& product,
                              const std::vector<float>& scales) {
    const Shape per_channel{std::ssize(scales)};
    const Attributes axis{{"axis", static_cast<int64_t>(product.channel_axis)}};
    const ValueId s = rewriter_.add_constant(
        node, "weight_scale", Tensor::of<float>(per_channel, std::span<const float>(scales)));
    const ValueId z =
        rewriter_.add_constant(node, "weight_zero_point", Tensor({DType::kI8, per_channel}));
    ValueId w = kNoValue;
    if (options_.learns) {
      SHOAL_ASSIGN(w, to().add(ops::quantize_linear, {rewriter_.map(node.inputs[1]), s, z}, axis,
                               name(node.outputs[0], "weight_quantized")));
    } else {
      w = rewriter_.add_constant(node, "weight", rounded(product, scales));
    }
    return to().add(ops::dequantize_linear, {w, s, z}, axis,
                    name(node.outputs[0], "weight_dequantized"));
  }

  static Tensor rounded(const WeightedProduct& product, const std::vector<float>& scales) {
    Tensor bytes({DType::kI8, product.weights->shape()});
    const auto to_bytes = bytes.data<int8_t>();
    for_each_weight(product, [&](size_t i, size_t channel, float w) {
      const float near = std::nearbyint(w / scales[channel]);
      to_bytes[i] = ops::saturate<int8_t>(std::clamp(near, -kMostWeight, kMostWeight));
    });
    // The f32 weights of a mapped file are not read again: their pages go back to the system, so
    // that a large model is never in memory in both forms.
    product.weights->release_pages();
    return bytes;
  }

  Result<ValueId> add_bias(const Node& node, const Tensor& bias, float x_scale,
                           const std::vector<float>& scales) {
    Tensor sums({DType::kI32, bias.shape()}), units({DType::kF32, bias.shape()});
    for (size_t i = 0; i < scales.size(); ++i) {
      const float unit = x_scale * scales[i];
      units.data<float>()[i] = unit;
      const double sum = std::nearbyint(static_cast<double>(bias.data<float>()[i]) / unit);
      sums.data<int32_t>()[i] = ops::saturate<int32_t>(sum);
    }
    const ValueId b = rewriter_.add_constant(node, "bias", std::move(sums));
    const ValueId s = rewriter_.add_constant(node, "bias_scale", std::move(units));
    const ValueId z =
        rewriter_.add_constant(node, "bias_zero_point", Tensor({DType::kI32, bias.shape()}));
    return to().add(ops::dequantize_linear, {b, s, z}, {{"axis", int64_t{0}}},
                    name(node.outputs[0], "bias_dequantized"));
  }

  const Graph& graph_;
  const QuantizeOptions& options_;
  Rewriter rewriter_;
  std::map<ValueId, Parameters> parameters_;
};

bool replace(const Graph& graph, passes::Rewriter& rewriter, const Node& node) {
  if (node.op != &ops::batch_normalization) return false;
  const TensorType& type = graph[node.inputs[0]].type;
  const auto scaling = ops::channel_scaling_of(node, graph.operands(node.inputs));
  if (!scaling || type.dtype != DType::kF32 || type.shape.rank() != 4) return false;
  const int64_t channels = type.shape[1];
  Tensor weights({DType::kF32, {channels, 1, 1, 1}}), bias({DType::kF32, {channels}});
  const auto as_float = [](double x) { return static_cast<float>(x); };
  std::ranges::transform(scaling->scale, weights.data<float>().begin(), as_float);
  std::ranges::transform(scaling->shift, bias.data<float>().begin(), as_float);
  const ValueId w = rewriter.add_constant(node, "weight", std::move(weights));
  const ValueId b = rewriter.add_constant(node, "bias", std::move(bias));
  return rewriter.substitute(node, ops::conv, {rewriter.map(node.inputs[0]), w, b},
                             {{"group", channels}});
}

// Makes each BatchNormalization of f32 images, with constants and not in training, a Conv of one
// weight per channel. It costs a little more in floats, but can run on bytes: EtinyNet has one
// behind each ReLU. Fails as passes do.
Result<Graph> norms_as_products(const Graph& graph) {
  return passes::rewrite(graph, [&](passes::Rewriter& rewriter, const Node& node) {
    return replace(graph, rewriter, node);
  });
}

// The choice of values: inputs and results of products; then, in topological order, results of
// operators that read only such values and run on bytes, if a product depends on them. So few
// values are converted, and only for operators that need floats. Nothing behind the last product is
// worth rounding: YOLOX puts boxes and probabilities into one tensor there.

// Worth it where their inputs are bytes anyway: engines compute them on bytes, or by a table.
bool carries_bytes(const Graph& graph, const Node& node) {
  static constexpr std::array kOperators = {&ops::add,
                                            &ops::average_pool,
                                            &ops::clip,
                                            &ops::concat,
                                            &ops::global_average_pool,
                                            &ops::hard_sigmoid,
                                            &ops::hard_swish,
                                            &ops::leaky_relu,
                                            &ops::relu,
                                            &ops::sigmoid,
                                            &ops::swish};
  return keeps_elements(graph, node) ||
         (std::ranges::find(kOperators, node.op) != kOperators.end() && node.outputs.size() == 1);
}

class Selection {
 public:
  Selection(const Graph& graph, const Products& real) : graph_(graph), links_(graph) {
    for (const Node& node : graph_.nodes()) {
      if (!real.contains(node.outputs[0]) && product_of(graph_, node)) products_.push_back(&node);
    }
  }

  std::vector<ValueId> select() {
    for (const Node* product : products_) {
      take(product->inputs[0]);
      take(result_of(*product));
    }
    const std::vector<bool> needed = needed_by_products();
    for (const Node& node : graph_.nodes()) {
      const ValueId result = result_of(node);
      if (needed[static_cast<size_t>(result)] && carries_bytes(graph_, node) && reads_taken(node)) {
        take(result);
      }
    }
    return {taken_.begin(), taken_.end()};
  }

 private:
  // Per value: whether a product reads it, or something that is computed from it.
  std::vector<bool> needed_by_products() const {
    std::vector<bool> needed(graph_.value_count());
    const auto nodes = graph_.nodes();
    auto product = products_.rbegin();
    for (size_t i = nodes.size(); i-- > 0;) {
      const bool is_product = product != products_.rend() && *product == &nodes[i];
      if (is_product) ++product;
      const bool counts = is_product || std::ranges::any_of(nodes[i].outputs, [&](ValueId id) {
                            return needed[static_cast<size_t>(id)];
                          });
      for (ValueId id : nodes[i].inputs) {
        if (counts && id != kNoValue) needed[static_cast<size_t>(id)] = true;
      }
    }
    return needed;
  }

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
  std::vector<const Node*> products_;
  std::set<ValueId> taken_;
};

}  // namespace

Result<Graph> prepare(const Graph& graph) {
  Graph current = graph;
  // Padding and batch norms are folded first. Other passes wait: they may fuse nodes into operators
  // that product_of() does not know.
  for (auto* pass :
       {passes::remove_dead_code, passes::remove_identity, passes::fold_constants, passes::fold_pad,
        passes::fold_batch_norm, norms_as_products, passes::remove_dead_code,
        passes::recognise_hard_swish, passes::recognise_swish, passes::remove_dead_code}) {
    SHOAL_ASSIGN(current, pass(current));
  }
  SHOAL_TRY(verify(current));
  return current;
}

std::vector<ValueId> products_to_quantize(const Graph& graph) {
  std::vector<ValueId> products;
  for (const Node& node : graph.nodes()) {
    if (product_of(graph, node)) products.push_back(node.outputs[0]);
  }
  return products;
}

Result<Graph> quantize(const Graph& graph, const Ranges& ranges, const QuantizeOptions& options) {
  SHOAL_ASSIGN(Graph quantized, Quantizer(graph, ranges, options).run());
  SHOAL_TRY(verify(quantized));
  return quantized;
}

std::vector<ValueId> values_to_quantize(const Graph& graph, const Products& real) {
  return Selection(graph, real).select();
}

}  // namespace shoal::compress
