// Norms are summed in f64: of a million elements in f32 the last could be lost, and the bound with
// them. Sums are f32, as gradients are.
#include "shoal/train/privacy/clipped_sum.h"

#include <algorithm>
#include <cmath>

namespace shoal::privacy {
namespace {

// Four sums, so that the compiler may add by vectors.
double square_sum(std::span<const float> elements) {
  double sums[4] = {};
  const size_t whole = elements.size() / 4 * 4;
  for (size_t i = 0; i < whole; i += 4) {
    for (size_t k = 0; k < 4; ++k) sums[k] += double{elements[i + k]} * double{elements[i + k]};
  }
  for (size_t i = whole; i < elements.size(); ++i) {
    sums[0] += double{elements[i]} * double{elements[i]};
  }
  return sums[0] + sums[1] + sums[2] + sums[3];
}

}  // namespace

ClippedSum::ClippedSum(std::span<const Tensor> weights, double clip) : clip_(clip) {
  SHOAL_CHECK(clip > 0);
  for (const Tensor& weight : weights) sums_.emplace_back(weight.type());
}

Status ClippedSum::add(std::span<const Tensor> gradient) {
  SHOAL_CHECK(gradient.size() == sums_.size());
  double squares = 0;
  for (const Tensor& part : gradient) squares += square_sum(part.data<float>());
  if (!std::isfinite(squares)) {
    return invalid("gradients are no numbers; a lower rate may help");
  }
  const double norm = std::sqrt(squares);
  ++added_;
  if (norm > clip_) ++clipped_;
  const auto factor = static_cast<float>(norm > clip_ ? clip_ / norm : 1);
  for (size_t t = 0; t < sums_.size(); ++t) {
    const std::span<float> sum = sums_[t].data<float>();
    const std::span<const float> part = gradient[t].data<float>();
    SHOAL_CHECK(part.size() == sum.size());
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * part[i];
  }
  return {};
}

void ClippedSum::release(double noise, double batch, SecretStream& stream,
                         std::span<Tensor> gradients) {
  SHOAL_CHECK(gradients.size() == sums_.size() && batch > 0 && noise >= 0);
  const double deviation = noise * clip_;
  for (size_t t = 0; t < sums_.size(); ++t) {
    if (!gradients[t].defined()) gradients[t] = Tensor(sums_[t].type());
    const std::span<float> sum = sums_[t].data<float>();
    const std::span<float> out = gradients[t].data<float>();
    double normal[512] = {};
    for (size_t i = 0; i < sum.size(); ++i) {
      if (i % std::size(normal) == 0 && deviation > 0) {
        fill_normal(std::span(normal).first(std::min(std::size(normal), sum.size() - i)), stream);
      }
      out[i] =
          static_cast<float>((double{sum[i]} + deviation * normal[i % std::size(normal)]) / batch);
    }
    std::ranges::fill(sum, 0.0f);
  }
}

}  // namespace shoal::privacy
