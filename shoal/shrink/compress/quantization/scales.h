// Scales of weights in bytes, w ~ scale[c] * q with q in [-127, 127] and one scale per output
// channel c; and values that share a scale.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/analysis/histogram.h"
#include "shoal/shrink/compress/analysis/product.h"
#include "shoal/shrink/compress/quantization/calibration.h"

namespace shoal::compress {

inline constexpr float kMostWeight = 127;  // -128 is not used: the range is symmetric

inline size_t channels_of(const WeightedProduct& product) {
  return static_cast<size_t>(product.weights->shape()[product.channel_axis]);
}

// Calls f(index, output channel, weight).
template <class F>
void for_each_weight(const WeightedProduct& product, F f) {
  const Shape& shape = product.weights->shape();
  const auto inner = static_cast<size_t>(shape.count(product.channel_axis + 1, shape.rank()));
  const size_t channels = channels_of(product);
  const auto weights = product.weights->data<float>();
  // The channel is the axis before `inner`.
  for (size_t first = 0, channel = 0; first < weights.size(); first += inner) {
    for (size_t i = first; i < first + inner; ++i) f(i, channel, weights[i]);
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
}

// The scales by this rule, large enough for the product's bias to fit into 32 bits at the input
// scale `x_scale`. All are normal numbers. Pure.
std::vector<float> weight_scales(const WeightedProduct& product, float x_scale, RangeRule rule);

// Whether the only output just rearranges or selects elements of input 0.
bool keeps_elements(const Graph& graph, const Node& node);

// Unifies the ranges around nodes that keep elements, and of a Concat and its parts. A part with
// another reader keeps its own range, which may be finer. Pure.
Ranges shared_ranges(const Graph& graph, Ranges ranges);

}  // namespace shoal::compress
