// Erasure codes over numbers: parities of values, from which lost values are computed. Pure
// functions, any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

using Coefficients = std::vector<std::vector<double>>;  // by parity and data

// More parities would need larger systems, with worse condition numbers.
inline constexpr int kMostParities = 2;

// For reals: unit vectors spread evenly over half a circle, the parities' own among them, so that
// no two are close. For integers: ones, and 1, 2, ..., which add up exactly.
Coefficients real_coefficients(size_t data, int parities);
Coefficients integer_coefficients(size_t data, int parities);

// The condition number of the worst system that a loss can lead to. Infinity if some loss cannot be
// recovered from.
double worst_condition(const Coefficients& coefficients);

// OK iff any loss of as many members as there are parities can be recovered from. Checks the
// numbers only; the caller checks the members. `integers` requires whole numbers.
Status check_coefficients(const Coefficients& coefficients, size_t data, bool integers);

// OK iff the members of each code fit each other and are in no other code.
Status verify_codes(const Graph& graph, const Plan& plan);

// A lost value as the weighted sum of other members, over the divisor.
struct Recovery {
  size_t data = 0;  // that was lost
  struct Term {
    size_t member;  // data first, then parities
    double weight;
  };
  std::vector<Term> terms;
  double divisor = 1;
};

// Recoveries of all lost data; nullopt if fewer members are here than there are data.
std::optional<std::vector<Recovery>> find_recoveries(const Coefficients& coefficients,
                                                     const std::vector<bool>& here);

// The lost value, of `length` along the axis. Unused members may be undefined. f32, or exact i32
// for a code of integers.
Tensor recover(const Recovery& recovery, std::span<const Tensor> members, size_t axis,
               int64_t length);

// Whether a parity is that of the data: to `tolerance` of the sum of their largest elements, or
// exactly, modulo 2^32, for integers. `at` is the element of the parity that is off most.
struct Misfit {
  bool found = false;
  size_t at = 0;
};
Misfit find_misfit(std::span<const Tensor> data, const Tensor& parity,
                   std::span<const double> coefficients, size_t axis, double tolerance);

// The inverse: the parity of data, as long along the axis as the longest.
Tensor parity_of(std::span<const Tensor> data, std::span<const double> coefficients, size_t axis);

}  // namespace shoal::plan
