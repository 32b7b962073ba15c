// Everything is computed as logarithms: A overflows at orders of use. For an integer order, A is a
// sum of positive terms,
//
//   A = sum over i of C(a, i) (1 - q)^(a - i) q^i exp((i^2 - i) / (2 sigma^2)).
//
// For another order the integral is cut at z0 = sigma^2 log(1/q - 1) + 1/2, where both summands of
// the base are equal, and each half is a binomial series, whose terms change sign from i > a on
// (section 3.3 of the paper).
#include "shoal/train/privacy/accountant.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "shoal/base/status.h"

namespace shoal::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNegligible = -30;  // log(A) is never negative: such terms do not change it
constexpr int kMostTerms = 100'000;  // of a series; orders and rates of use need some hundreds

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == -kInfinity ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

// log(e^a - e^b). REQUIRES: a > b.
double log_subtract(double a, double b) { return a + std::log1p(-std::exp(b - a)); }

// log(erfc(x)). Beyond 25 erfc underflows soon, and its asymptotic series is exact to 1e-12.
double log_erfc(double x) {
  if (x < 25) return std::log(std::erfc(x));
  const double s = 1 / (x * x);
  return -x * x - std::log(x) - std::log(std::numbers::pi) / 2 +
         std::log1p(s * (-0.5 + s * (0.75 - s * 1.875)));
}

double log_a_of_integer(double q, double sigma, int order) {
  double log_a = -kInfinity, log_choose = 0;  // of C(order, i)
  for (int i = 0; i <= order; ++i) {
    const double gain = i * (i - 1.0) / (2 * sigma * sigma);
    log_a = log_add(log_a, log_choose + i * std::log(q) + (order - i) * std::log1p(-q) + gain);
    log_choose += std::log((order - i) / (i + 1.0));
  }
  return log_a;
}

double log_a_of_fraction(double q, double sigma, double order) {
  const double z0 = sigma * sigma * std::log(1 / q - 1) + 0.5;
  const double width = std::numbers::sqrt2 * sigma;
  double positive = -kInfinity, negative = -kInfinity;
  double log_choose = 0;  // of |C(order, i)|
  bool is_positive = true;
  for (int i = 0; i < kMostTerms; ++i) {
    const double j = order - i;
    const auto half = [&](double power, double other, double tail) {
      return log_choose + power * std::log(q) + other * std::log1p(-q) +
             power * (power - 1) / (2 * sigma * sigma) + log_erfc(tail / width) - std::numbers::ln2;
    };
    const double below = half(i, j, i - z0), above = half(j, i, z0 - j);
    double& sum = is_positive ? positive : negative;
    sum = log_add(sum, log_add(below, above));
    if (std::max(below, above) < kNegligible) break;
    log_choose += std::log(std::abs(j) / (i + 1.0));
    if (j < 0) is_positive = !is_positive;
  }
  return negative == -kInfinity ? positive : log_subtract(positive, negative);
}

}  // namespace

double rdp_of_step(double sample_rate, double noise, double order) {
  SHOAL_CHECK(sample_rate >= 0 && sample_rate <= 1 && noise >= 0 && order > 1);
  if (sample_rate == 0) return 0;
  if (noise == 0) return kInfinity;
  if (sample_rate == 1) return order / (2 * noise * noise);
  const bool is_integer = order == std::floor(order) && order < kMostTerms;
  const double log_a = is_integer ? log_a_of_integer(sample_rate, noise, static_cast<int>(order))
                                  : log_a_of_fraction(sample_rate, noise, order);
  return std::max(log_a, 0.0) / (order - 1);
}

std::vector<double> default_orders() {
  std::vector<double> orders;
  for (int tenth = 11; tenth < 110; ++tenth) orders.push_back(tenth / 10.0);
  for (int order = 12; order < 64; ++order) orders.push_back(order);
  for (int order = 128; order <= 512; order *= 2) orders.push_back(order);
  return orders;
}

Epsilon epsilon_of(std::span<const double> orders, std::span<const double> rdp, double delta) {
  SHOAL_CHECK(!orders.empty() && orders.size() == rdp.size() && delta > 0 && delta < 1);
  Epsilon best{kInfinity, orders[0]};
  for (size_t i = 0; i < orders.size(); ++i) {
    const double a = orders[i];
    const double bound = rdp[i] + std::log1p(-1 / a) - std::log(delta * a) / (a - 1);
    if (bound < best.epsilon) best = {std::max(bound, 0.0), a};
  }
  return best;
}

Epsilon epsilon_of_steps(double sample_rate, double noise, uint64_t steps, double delta,
                         std::span<const double> orders) {
  std::vector<double> rdp;
  for (const double order : orders) {
    // No step reveals nothing, whatever the noise.
    const double one = steps == 0 ? 0 : rdp_of_step(sample_rate, noise, order);
    rdp.push_back(one * static_cast<double>(steps));
  }
  return steps == 0 || sample_rate == 0 ? Epsilon{0, orders[0]} : epsilon_of(orders, rdp, delta);
}

}  // namespace shoal::privacy
