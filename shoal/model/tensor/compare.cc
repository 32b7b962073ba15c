#include "shoal/model/tensor/compare.h"

#include <cmath>
#include <limits>

namespace shoal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
double relative_error(std::span<const T> got, std::span<const T> want) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const auto g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
    if (g == w || (std::isnan(g) && std::isnan(w))) {
      if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
      continue;
    }
    // std::max would lose a NaN, since comparisons with it are false.
    if (!std::isfinite(g) || !std::isfinite(w)) return kInfinity;
    largest = std::max(largest, std::abs(w));
    error = std::max(error, std::abs(g - w));
  }
  if (error == 0) return 0;
  return largest > 0 ? error / largest : kInfinity;
}

}  // namespace

double relative_error(const Tensor& got, const Tensor& want) {
  if (got.type() != want.type() || got.defined() != want.defined()) return kInfinity;
  if (!want.defined()) return 0;
  if (!Floats::contains(want.dtype())) {
    return std::ranges::equal(got.bytes(), want.bytes()) ? 0 : kInfinity;
  }
  double error = 0;
  visit<Floats>(want.dtype(),
                [&]<class T>() { error = relative_error<T>(got.data<T>(), want.data<T>()); });
  return error;
}

double relative_error(std::span<const Tensor> got, std::span<const Tensor> want) {
  if (got.size() != want.size()) return kInfinity;
  double error = 0;
  for (size_t i = 0; i < want.size(); ++i) error = std::max(error, relative_error(got[i], want[i]));
  return error;
}

}  // namespace shoal
