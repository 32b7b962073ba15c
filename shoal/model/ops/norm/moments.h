// Mean and variance, by which all normalizations are computed. Sums are kept in double, and the
// variance takes a second pass: E[x^2] - E[x]^2 cancels to nothing if the mean is large.
#pragma once

#include <cmath>
#include <span>

#include "shoal/model/tensor/dtype.h"

namespace shoal::ops {

struct Moments {
  double mean = 0;
  double variance = 0;  // of the population: divided by n, not by n - 1

  double inverse_deviation(double epsilon) const { return 1 / std::sqrt(variance + epsilon); }
};

template <class T>
Moments moments_of(std::span<const T> elements) {
  const auto n = static_cast<double>(elements.size());
  Moments moments;
  for (T x : elements) moments.mean += static_cast<double>(x);
  moments.mean /= n;
  for (T x : elements) {
    const double distance = static_cast<double>(x) - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= n;
  return moments;
}

// Those around 0 instead of the mean.
template <class T>
Moments moments_around_zero(std::span<const T> elements) {
  Moments moments;
  for (T x : elements) moments.variance += static_cast<double>(x) * static_cast<double>(x);
  moments.variance /= static_cast<double>(elements.size());
  return moments;
}

}  // namespace shoal::ops
