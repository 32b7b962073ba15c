// Affine quantisation of activations and symmetric quantisation of weights:
//
//   x ~ sx * (qx - zx)     qx in [0, 255],     sx = (high - low) / 255,  zx = round(-low / sx)
//   w ~ sw[c] * qw         qw in [-127, 127],  sw[c] per output channel c (weight_scales.h)
//   b ~ sx * sw[c] * qb    qb in i32
//
// so that sum(x * w) + b = sx * sw[c] * (sum((qx - zx) * qw) + qb): one integer sum and one factor
// per channel. Weights have no zero point, which saves a sum over x; -128 is not used, which
// keeps their range symmetric.
#include "shoal/shrink/compress/quantization/quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/quantization/norms_as_products.h"
#include "shoal/shrink/compress/quantization/shared_ranges.h"
#include "shoal/shrink/compress/quantization/weight_scales.h"

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
    const auto found = parameters_.find(id);
    if (found == parameters_.end()) return {};
    const auto [scale, zero_point] = found->second;
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

  // The bias with its shift; nothing if there is no shift.
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

}  // namespace shoal::compress
