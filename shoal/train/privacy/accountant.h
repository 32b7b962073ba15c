// The Rényi accountant of DP-SGD: the privacy cost of steps of the sampled Gaussian mechanism.
//
// A step sees each example independently with probability q, and adds normal noise of deviation
// sigma to a sum that one example changes by at most 1. Mironov, Talwar and Zhang (2019, arXiv
// 1908.10530): its Rényi divergence of order a is log(A) / (a - 1), where
//
//   A = E[((1 - q) + q * exp((2 z - 1) / (2 sigma^2)))^a],   z normal of deviation sigma;
//
// and steps add up. Epsilon follows at each order (Canonne, Kamath and Steinke 2020, prop. 12):
//
//   epsilon = rdp + log(1 - 1/a) - log(delta * a) / (a - 1),
//
// and the smallest over all orders counts. Neighbours differ by the presence of one example.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::privacy {

// The divergence of one step at an order. Infinite without noise, 0 at rate 0. REQUIRES: 0 <=
// sample_rate <= 1, noise >= 0, order > 1.
double rdp_of_step(double sample_rate, double noise, double order);

// 1.1 to 10.9 by tenths, 12 to 63, 128, 256, 512.
std::vector<double> default_orders();

struct Epsilon {
  double epsilon = 0;  // may be infinite
  double order = 0;    // at which it is smallest
};

// Epsilon of divergences `rdp` at `orders`. REQUIRES: equal sizes, at least one; 0 < delta < 1.
Epsilon epsilon_of(std::span<const double> orders, std::span<const double> rdp, double delta);

// Epsilon of n equal steps. REQUIRES: as above.
Epsilon epsilon_of_steps(double sample_rate, double noise, uint64_t steps, double delta,
                         std::span<const double> orders);

}  // namespace shoal::privacy
