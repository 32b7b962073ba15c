// Empirical variational Bayesian matrix factorisation has an analytic solution once the variance of
// the noise is known. For an L x M matrix, L <= M, with singular values s_1 >= ... >= s_L:
//
//   a = L / M,  t = 2.5129 sqrt(a),  x = (1 + t)(1 + a / t)        x: least x_h of a signal
//   x_h = s_h² / (M v)                                              v: variance of the noise
//   rank = number of h with x_h > x
//
// v is not known, and is the minimum of
//
//   sum over x_h > x of   x_h - tau(x_h) + ln((tau(x_h) + 1) / x_h) + a ln(tau(x_h) / a + 1)
//   sum over x_h <= x of  x_h - ln x_h                              x_h = 0: ln v
//   tau(y) = (y - (1 + a) + sqrt((y - (1 + a))² - 4a)) / 2
//
// between max(s_e² / (M x), mean of s_h² over h >= e, / M) and the mean of all s_h² / M, where
// e = ceil(L / (1 + a)): values from there on are noise. Of a value
// that is zero, -ln x_h would be infinite; only what depends on v is kept of it.
#include "shoal/shrink/compress/factors/evbmf.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::compress {
namespace {

// Squares below this share of the largest are rounding errors.
constexpr double kZero = 1e-12;

struct Spectrum {
  std::vector<double> squares;  // of the singular values; zero where they are rounding errors
  double smaller = 0;           // L
  double larger = 0;            // M

  double ratio() const { return smaller / larger; }
  // The least x_h of a signal.
  double threshold() const {
    const double t = 2.5129 * std::sqrt(ratio());
    return (1 + t) * (1 + ratio() / t);
  }
};

double free_energy(const Spectrum& spectrum, double variance) {
  const double a = spectrum.ratio(), threshold = spectrum.threshold();
  double sum = 0;
  for (const double square : spectrum.squares) {
    const double x = square / (spectrum.larger * variance);
    if (x == 0) {
      sum += std::log(variance);
    } else if (x <= threshold) {
      sum += x - std::log(x);
    } else {
      const double b = x - (1 + a);
      const double tau = (b + std::sqrt(std::max(b * b - 4 * a, 0.0))) / 2;
      sum += x - tau + std::log((tau + 1) / x) + a * std::log(tau / a + 1);
    }
  }
  return sum;
}

// The function may have several minima, so that all of the range is looked at before the best part
// of it is narrowed down. On a scale of logarithms: the range may span decades.
double best_variance(const Spectrum& spectrum, double low, double high) {
  constexpr int kSteps = 256, kNarrowings = 40;
  constexpr double kGolden = 0.6180339887498949;
  const double step = std::log(high / low) / kSteps;
  const auto energy = [&](double log) { return free_energy(spectrum, low * std::exp(log)); };
  int best = 0;
  double least = energy(0);
  for (int i = 1; i <= kSteps; ++i) {
    if (const double here = energy(i * step); here < least) least = here, best = i;
  }
  double left = std::max(best - 1, 0) * step, right = std::min(best + 1, kSteps) * step;
  for (int i = 0; i < kNarrowings; ++i) {
    const double a = right - kGolden * (right - left), b = left + kGolden * (right - left);
    if (energy(a) < energy(b)) {
      right = b;
    } else {
      left = a;
    }
  }
  return low * std::exp((left + right) / 2);
}

}  // namespace

size_t evbmf_rank(std::span<const double> singular_values, size_t rows, size_t columns) {
  SHOAL_CHECK(!singular_values.empty() && singular_values.size() == std::min(rows, columns));
  Spectrum spectrum{{},
                    static_cast<double>(std::min(rows, columns)),
                    static_cast<double>(std::max(rows, columns))};
  const double largest = singular_values[0] * singular_values[0];
  for (double s : singular_values) spectrum.squares.push_back(s * s > kZero * largest ? s * s : 0);
  const auto& squares = spectrum.squares;
  const auto nonzero =
      static_cast<size_t>(std::ranges::count_if(squares, [](double square) { return square > 0; }));

  const auto noise = static_cast<size_t>(std::ceil(spectrum.smaller / (1 + spectrum.ratio()))) - 1;
  const auto mean = [&](size_t from) {
    const auto first = squares.begin() + static_cast<std::ptrdiff_t>(from);
    return std::accumulate(first, squares.end(), 0.0) / static_cast<double>(squares.end() - first);
  };
  const double low = std::max(squares[noise] / spectrum.threshold(), mean(noise)) / spectrum.larger;
  const double high = mean(0) / spectrum.larger;
  if (low <= 0) return std::max<size_t>(nonzero, 1);
  const double variance = low < high ? best_variance(spectrum, low, high) : high;
  const double least = spectrum.larger * variance * spectrum.threshold();
  return std::max<size_t>(
      static_cast<size_t>(std::ranges::count_if(squares, [&](double s) { return s > least; })), 1);
}

}  // namespace shoal::compress
