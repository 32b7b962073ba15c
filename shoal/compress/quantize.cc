// Affine quantisation of activations and symmetric quantisation of weights:
//
//   x ~ sx * (qx - zx)     qx in [0, 255],     sx = (high - low) / 255,  zx = round(-low / sx)
//   w ~ sw[c] * qw         qw in [-127, 127],  sw[c] = max |w[c]| / 127, per output channel c
//   b ~ sx * sw[c] * qb    qb in i32
//
// so that sum(x * w) + b = sx * sw[c] * (sum((qx - zx) * qw) + qb): one integer sum and one factor
// per channel. Weights have no zero point, which saves a sum over x; -128 is not used, which
// keeps their range symmetric.
#include "shoal/compress/quantize.h"

#include <algorithm>
#include <cmath>

#include "shoal/compress/product.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/ops.h"
#include "shoal/passes/passes.h"
#include "shoal/passes/rewriter.h"
#include "shoal/passes/use_defs.h"

namespace shoal::compress {
namespace {

using passes::Rewriter;

// Whether the elements of the output are elements of input 0. They then have its scale, and a
// device can move bytes without rounding them again.
bool keeps_elements(const Graph& graph, const Node& node) {
  return node.op == &ops::max_pool || node.op == &ops::transpose || passes::is_view(graph, node);
}

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
  Quantizer(const Graph& graph, const Ranges& ranges) : graph_(graph), rewriter_(graph) {
    for (const auto& [id, range] : ranges) parameters_[id] = parameters_of(range);
    // Nodes are in topological order, so that a chain of such nodes gets the parameters of its
    // first value.
    for (const Node& node : graph.nodes()) {
      const auto from = parameters_.find(node.inputs.empty() ? kNoValue : node.inputs[0]);
      const auto to = parameters_.find(node.outputs[0]);
      if (from != parameters_.end() && to != parameters_.end() && keeps_elements(graph, node)) {
        to->second = from->second;
      }
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
    const auto product = product_of(graph_, node);
    const auto x = parameters_.find(node.inputs.empty() ? kNoValue : node.inputs[0]);
    if (!product || x == parameters_.end()) return rewriter_.copy(node);
    const std::vector<float> scales = weight_scales(*product, x->second.scale);
    std::vector<ValueId> inputs{rewriter_.map(node.inputs[0])};
    SHOAL_ASSIGN(const ValueId weights, add_weights(node, *product, scales));
    inputs.push_back(weights);
    if (product->bias != nullptr) {
      SHOAL_ASSIGN(const ValueId bias, add_bias(node, *product->bias, x->second.scale, scales));
      inputs.push_back(bias);
    }
    if (rewriter_.substitute(node, *node.op, std::move(inputs), node.attributes)) return {};
    return Status(Code::kInternal, "a quantised node was refused").at(place_of(graph_, node));
  }

  // One scale per output channel: its largest weight becomes 127. Where the bias would not fit into
  // 32 bits at that scale, because the weights are tiny or zero, the scale is the one that makes it
  // fit.
  static std::vector<float> weight_scales(const WeightedProduct& product, float x_scale) {
    constexpr float kMostBias = 0x1p30f;
    std::vector<float> scales(channels_of(product), 0.0f);
    for_each_weight(product, [&](size_t, size_t channel, float w) {
      scales[channel] = std::max(scales[channel], std::abs(w) / 127);
    });
    for (size_t i = 0; i < scales.size(); ++i) {
      const float bias = product.bias != nullptr ? std::abs(product.bias->data<float>()[i]) : 0;
      scales[i] = std::max(scales[i], bias / x_scale / kMostBias);
      if (!std::isnormal(scales[i])) scales[i] = 1;
    }
    return scales;
  }

  static size_t channels_of(const WeightedProduct& product) {
    return static_cast<size_t>(product.weights->shape()[product.channel_axis]);
  }

  // Calls f(index, output channel, weight).
  template <class F>
  static void for_each_weight(const WeightedProduct& product, F f) {
    const Shape& shape = product.weights->shape();
    const auto inner = static_cast<size_t>(shape.count(product.channel_axis + 1, shape.rank()));
    const size_t channels = channels_of(product);
    const auto weights = product.weights->data<float>();
    // The channel is the axis before `inner`, and begins again after the last.
    for (size_t first = 0, channel = 0; first < weights.size(); first += inner) {
      for (size_t i = first; i < first + inner; ++i) f(i, channel, weights[i]);
      channel = channel + 1 == channels ? 0 : channel + 1;
    }
  }

  Result<ValueId> add_weights(const Node& node, const WeightedProduct& product,
                              const std::vector<float>& scales) {
    Tensor bytes({DType::kI8, product.weights->shape()});
    const auto to_bytes = bytes.data<int8_t>();
    for_each_weight(product, [&](size_t i, size_t channel, float w) {
      const float rounded = std::nearbyint(w / scales[channel]);
      to_bytes[i] = ops::saturate<int8_t>(std::clamp(rounded, -127.0f, 127.0f));
    });
    // The f32 weights of a mapped file are not read again: their pages go back to the system, so
    // that a large model is never in memory in both forms.
    product.weights->release_pages();
    const Shape per_channel{std::ssize(scales)};
    const ValueId w = rewriter_.add_constant(node, "weight", std::move(bytes));
    const ValueId s = rewriter_.add_constant(
        node, "weight_scale", Tensor::of<float>(per_channel, std::span<const float>(scales)));
    const ValueId z =
        rewriter_.add_constant(node, "weight_zero_point", Tensor({DType::kI8, per_channel}));
    return to().add(ops::dequantize_linear, {w, s, z},
                    {{"axis", static_cast<int64_t>(product.channel_axis)}},
                    name(node.outputs[0], "weight_dequantized"));
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
  Rewriter rewriter_;
  std::map<ValueId, Parameters> parameters_;
};

}  // namespace

Result<Graph> prepare(const Graph& graph) {
  Graph current = graph;
  // Padding and batch norms are folded first. Other passes wait: they may fuse nodes into operators
  // that product_of() does not know.
  for (auto* pass : {passes::remove_dead_code, passes::remove_identity, passes::fold_constants,
                     passes::fold_pad, passes::fold_batch_norm, passes::remove_dead_code}) {
    SHOAL_ASSIGN(current, pass(current));
  }
  SHOAL_TRY(verify(current));
  return current;
}

Result<Graph> quantize(const Graph& graph, const Ranges& ranges) {
  SHOAL_ASSIGN(Graph quantized, Quantizer(graph, ranges).run());
  SHOAL_TRY(verify(quantized));
  return quantized;
}

}  // namespace shoal::compress
