#include "shoal/shrink/compress/quantization/scales.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

// The magnitude that becomes 127 in a channel of these magnitudes; their order changes.
float largest(std::span<float> magnitudes, RangeRule rule) {
  if (magnitudes.empty()) return 0;
  const float end_of_all = std::ranges::max(magnitudes);
  if (rule == RangeRule::kMinMax || !std::isnormal(end_of_all / kMostWeight)) return end_of_all;
  if (rule == RangeRule::kPercentile) {
    const auto outside =
        static_cast<ptrdiff_t>(kShareOutside * static_cast<double>(magnitudes.size()));
    const auto place = magnitudes.end() - 1 - outside;
    std::ranges::nth_element(magnitudes, place);
    return *place;
  }
  // Cuts of up to a half; beyond it, clamping the largest weights costs more than rounding does.
  constexpr int kCuts = 16;
  float best = end_of_all;
  double least = 0;
  for (int cut = 0; cut < kCuts; ++cut) {
    const float end = end_of_all * (1 - static_cast<float>(cut) / (2 * kCuts));
    const double step = static_cast<double>(end) / kMostWeight;
    double error = 0;
    for (float w : magnitudes) {
      const double near = step * std::min<double>(std::nearbyint(w / step), kMostWeight);
      error += (w - near) * (w - near);
    }
    if (cut == 0 || error < least) {
      least = error;
      best = end;
    }
  }
  return best;
}

// Sets of values that grow together.
class Sets {
 public:
  // The value that stands for a set.
  ValueId find(ValueId id) {
    const auto next = next_.find(id);
    if (next == next_.end() || next->second == id) return id;
    return next->second = find(next->second);
  }
  void join(ValueId a, ValueId b) { next_[find(b)] = find(a); }

 private:
  std::map<ValueId, ValueId> next_;
};

}  // namespace

// If the bias would not fit, because the weights are tiny or zero, the scale is raised until it
// does.
std::vector<float> weight_scales(const WeightedProduct& product, float x_scale, RangeRule rule) {
  constexpr float kMostBias = 0x1p28f;  // engines refuse 2^30, which rounding of scales may pass
  std::vector<std::vector<float>> magnitudes(channels_of(product));
  for_each_weight(product, [&](size_t, size_t channel, float w) {
    if (std::isfinite(w)) magnitudes[channel].push_back(std::abs(w));
  });
  std::vector<float> scales;
  for (size_t i = 0; i < magnitudes.size(); ++i) {
    float scale = largest(magnitudes[i], rule) / kMostWeight;
    const float bias = product.bias != nullptr ? std::abs(product.bias->data<float>()[i]) : 0;
    scale = std::max(scale, bias / x_scale / kMostBias);
    scales.push_back(std::isnormal(scale) ? scale : 1);
  }
  return scales;
}

bool keeps_elements(const Graph& graph, const Node& node) {
  static constexpr std::array kMoves = {&ops::depth_to_space, &ops::gather,
                                        &ops::max_pool,       &ops::slice,
                                        &ops::space_to_depth, &ops::transpose};
  if (node.outputs.size() != 1) return false;
  return std::ranges::find(kMoves, node.op) != kMoves.end() || passes::is_view(graph, node);
}

Ranges shared_ranges(const Graph& graph, Ranges ranges) {
  const passes::UseDefs links(graph);
  Sets sets;
  const auto join = [&](ValueId part, ValueId whole) {
    if (ranges.contains(part) && ranges.contains(whole)) sets.join(part, whole);
  };
  for (const Node& node : graph.nodes()) {
    const ValueId y = node.outputs[0];
    if (keeps_elements(graph, node)) join(node.inputs[0], y);
    if (node.op != &ops::concat) continue;
    for (ValueId part : node.inputs) {
      if (links.only_reader(part) != nullptr) join(part, y);
    }
  }
  Ranges of_sets;
  for (const auto& [id, range] : ranges) {
    Range& whole = of_sets[sets.find(id)];
    whole = {std::min(whole.low, range.low), std::max(whole.high, range.high)};
  }
  for (auto& [id, range] : ranges) range = of_sets[sets.find(id)];
  return ranges;
}

}  // namespace shoal::compress
