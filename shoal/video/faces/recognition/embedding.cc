#include "shoal/video/faces/recognition/embedding.h"

#include <cmath>

#include "shoal/base/status.h"

namespace shoal::faces {

Embedding normalised(std::span<const float> v) {
  double sum = 0;
  for (float x : v) sum += double{x} * x;
  Embedding unit(v.size(), 0.0F);
  if (!std::isfinite(sum) || sum <= 0) return unit;
  const double factor = 1 / std::sqrt(sum);
  for (size_t i = 0; i < v.size(); ++i) unit[i] = static_cast<float>(v[i] * factor);
  return unit;
}

double distance(std::span<const float> a, std::span<const float> b) {
  SHOAL_CHECK(a.size() == b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return sum;
}

void move_mean(Embedding& mean, std::span<const float> v, double alpha) {
  SHOAL_CHECK(mean.size() == v.size());
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = static_cast<float>((1 - alpha) * mean[i] + alpha * v[i]);
  }
}

}  // namespace shoal::faces
