#include "shoal/train/secure_sum/round_options.h"

#include <algorithm>
#include <cmath>

#include "shoal/train/secure_sum/shamir.h"

namespace shoal::secure_sum {
namespace {

constexpr size_t kFewestClients = 3;  // of two, each knows the other's vector from the sum
constexpr size_t kMostClients = 1 << 20, kMostElements = size_t{1} << 28;
constexpr double kFails = 0x1p-20, kReveals = 0x1p-40;

double log_choose(size_t n, size_t k) {
  const auto log_factorial = [](size_t x) { return std::lgamma(static_cast<double>(x) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// Probability that `least` or more of `drawn` items are marked, of `all` of which `marked` are.
double tail(size_t all, size_t marked, size_t drawn, size_t least) {
  double sum = 0;
  for (size_t k = least; k <= std::min(drawn, marked); ++k) {
    if (drawn - k > all - marked) continue;
    sum += std::exp(log_choose(marked, k) + log_choose(all - marked, drawn - k) -
                    log_choose(all, drawn));
  }
  return sum;
}

}  // namespace

Status check(const RoundOptions& o) {
  if (o.clients < kFewestClients || o.clients > kMostClients) {
    return invalid("a secure sum is of 3 to 2^20 clients");
  }
  if (o.length < 1 || o.length > kMostElements) return invalid("vectors have 1 to 2^28 elements");
  if (o.bits < 1 || o.bits > 32) return invalid("elements have 1 to 32 bits");
  const bool all = o.neighbours + 1 == o.clients;
  if (o.neighbours < 2 || o.neighbours >= o.clients || o.neighbours > kMostShares ||
      (!all && o.neighbours % 2 != 0)) {
    return invalid("neighbours are all other clients, or an even number of at most 254");
  }
  if (2 * o.threshold <= o.neighbours || o.threshold > o.neighbours) {
    return invalid("the threshold is more than half of the neighbours, and no more than all");
  }
  return {};
}

RoundOptions plan_round(size_t clients, size_t length, int bits) {
  SHOAL_CHECK(clients >= kFewestClients);
  const size_t others = clients - 1, dropped = clients / 3, corrupted = clients / 5;
  const auto times = static_cast<double>(clients);  // each of them may be the unlucky one
  RoundOptions options{.clients = clients, .length = length, .bits = bits};
  for (size_t k = 2; k <= std::min(others, kMostShares); k += 2) {
    options.neighbours = k;
    options.threshold = k / 2 + 1;
    if (times * tail(others, dropped, k, k - options.threshold + 1) <= kFails &&
        times * tail(others, corrupted, k, options.threshold) <= kReveals) {
      return options;
    }
  }
  if (others <= kMostShares) {
    options.neighbours = others;
    options.threshold = std::max(others / 2 + 1, others - dropped);
  }
  return options;
}

}  // namespace shoal::secure_sum
