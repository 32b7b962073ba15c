#include "shoal/train/privacy/accountant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "shoal/base/math/random.h"

namespace shoal::privacy {
namespace {

// log(A) of the head of accountant.h by the trapezoidal rule, which for such a function converges
// faster than any power of the step.
double log_a_by_integral(double q, double sigma, double order) {
  const double low = -12 * sigma, high = order + 12 * sigma;
  constexpr int kSteps = 20'000;
  const double step = (high - low) / kSteps;
  std::vector<double> logs;
  double most = -1e300;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = low + i * step;
    const double gain = (2 * z - 1) / (2 * sigma * sigma) + std::log(q);
    const double base =
        std::max(gain, std::log1p(-q)) + std::log1p(std::exp(-std::abs(gain - std::log1p(-q))));
    logs.push_back(order * base - z * z / (2 * sigma * sigma));
    most = std::max(most, logs.back());
  }
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum * step / (sigma * std::sqrt(2 * std::numbers::pi)));
}

TEST(Accountant, AgreesWithTheIntegral) {
  const RandomStream random(1, 0);
  for (uint64_t i = 0; i < 40; ++i) {
    const auto draw = [&](uint64_t k) {
      return static_cast<double>(random.below(1000, 4 * i + k));
    };
    const double q = std::pow(10, -4 * draw(0) / 1000) * 0.9;
    const double sigma = 0.5 + draw(1) / 200;
    const double tenth = 11 + std::floor(draw(2) / 4);
    const double order = i % 2 == 0 ? tenth / 10 : std::ceil(tenth / 10);
    const double expected = log_a_by_integral(q, sigma, order) / (order - 1);
    // The integral of what is close to 1 has its last digits only.
    EXPECT_NEAR(rdp_of_step(q, sigma, order), expected, 1e-5 * expected + 1e-10)
        << "q " << q << ", sigma " << sigma << ", order " << order;
  }
}

// python/dp_accounting, rdp_privacy_accountant_test.py, test_compute_rdp_poisson_sampled_gaussian.
// Its value at order 1.5, 6.7058e-4, is left out: by the first terms of the expansion in q it
// should be 6.5007e-4.
TEST(Accountant, HasThePublishedDivergences) {
  const double orders[] = {2.5, 5, 50, 100};
  const double published[] = {1.08548710e-03, 2.18075656e-03, 2.38460375e-02, 1.67416308e+02};
  for (size_t i = 0; i < std::size(orders); ++i) {
    EXPECT_NEAR(50 * rdp_of_step(0.01, 2.5, orders[i]) / published[i], 1, 1e-4) << orders[i];
  }
  EXPECT_NEAR(50 * rdp_of_step(0.01, 2.5, 1.5), 6.5007e-4, 1e-8);
}

// Opacus, accountants_test.py; TensorFlow Privacy, compute_dp_sgd_privacy_test.py.
TEST(Accountant, HasThePublishedEpsilons) {
  const struct {
    double sample_rate, noise;
    uint64_t steps;
    double delta, epsilon;
  } published[] = {{0.04, 1.5, 2250, 1e-5, 7.32911117143},
                   {150 / 60000.0, 1.3, 6000, 1e-5, 0.7242234026109595},
                   {100 / 100000.0, 1.0, 30000, 1e-7, 1.4154988495444845}};
  for (const auto& p : published) {
    const Epsilon found =
        epsilon_of_steps(p.sample_rate, p.noise, p.steps, p.delta, default_orders());
    EXPECT_NEAR(found.epsilon / p.epsilon, 1, 1e-9) << p.epsilon;
  }
  // One of little noise, at the orders of its authors: the lowest is the best.
  const double orders[] = {1.25, 1.5, 1.75, 2};
  const Epsilon found = epsilon_of_steps(1024 / 1e8, 0.1, 976563, 1e-7, orders);
  EXPECT_NEAR(found.epsilon / 5907982.31138195, 1, 1e-9);
  EXPECT_EQ(found.order, 1.25);
}

TEST(Accountant, ConvertsAsByHand) {
  std::vector<double> orders, rdp;
  for (int order = 2; order <= 32; ++order) {
    orders.push_back(order);
    rdp.push_back(1.1);
  }
  // 1.1 + log(31/32) - log(32e-5) / 31
  const Epsilon epsilon = epsilon_of(orders, rdp, 1e-5);
  EXPECT_NEAR(epsilon.epsilon, 1.32783806176, 1e-10);
  EXPECT_EQ(epsilon.order, 32);
}

TEST(Accountant, KnowsTheLimits) {
  EXPECT_EQ(rdp_of_step(0, 1, 3), 0);
  EXPECT_EQ(rdp_of_step(1, 2, 3), 3 / 8.0);
  EXPECT_TRUE(std::isinf(rdp_of_step(0.1, 0, 3)));
  EXPECT_EQ(epsilon_of_steps(0.1, 1, 0, 1e-5, default_orders()).epsilon, 0);
  EXPECT_TRUE(std::isinf(epsilon_of_steps(0.1, 0, 1, 1e-5, default_orders()).epsilon));
  // More noise reveals less; more steps, more examples and a higher order reveal more.
  const double here = rdp_of_step(0.01, 1, 8.5);
  EXPECT_LT(rdp_of_step(0.01, 1.1, 8.5), here);
  EXPECT_GT(rdp_of_step(0.011, 1, 8.5), here);
  EXPECT_GT(rdp_of_step(0.01, 1, 8.6), here);
}

}  // namespace
}  // namespace shoal::privacy
