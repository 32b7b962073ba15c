#include "shoal/shrink/compress/quantization/weight_scales.h"

#include <algorithm>
#include <cmath>
#include <span>

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

}  // namespace

// Where the bias would not fit, because the weights are tiny or zero, the scale is the one that
// makes it fit.
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

}  // namespace shoal::compress
