// Erasure codes over numbers: parities of values, from which values that are missing are computed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

using Coefficients = std::vector<std::vector<double>>;  // by parity and data

// More parities would need larger systems to be solved.
inline constexpr int kMostParities = 2;

// For reals: unit vectors spread evenly over half a circle, where those of the parities themselves
// stand too, so that no two are close. For integers: ones, and 1, 2, ..., which add up exactly.
Coefficients real_coefficients(size_t data, int parities);
Coefficients integer_coefficients(size_t data, int parities);

// The worst that any loss can do: the condition number of the matrix that is solved. Infinity where
// something that should be computable is not.
double worst_condition(const Coefficients& coefficients);

// Is it a code whose every loss of as many members as there are parities can be made up for? By its
// numbers alone: who makes or gets one checks the members. `integers` must be whole numbers.
Status check_coefficients(const Coefficients& coefficients, size_t data, bool integers);

// Do the members fit each other, and are they in no other code?
Status verify_codes(const Graph& graph, const Plan& plan);

// A lost value is the sum of others, each times its weight, over the divisor.
struct Recovery {
  size_t data = 0;  // that was lost
  struct Term {
    size_t member;  // data first, then parities
    double weight;
  };
  std::vector<Term> terms;
  double divisor = 1;
};

// How the data that are not there are computed; nothing where too few members are.
std::optional<std::vector<Recovery>> find_recoveries(const Coefficients& coefficients,
                                                     const std::vector<bool>& here);

// The lost value, as long along the axis as it should be. Members that are not used may be
// undefined. f32, or exactly i32 where the code is one of integers.
Tensor recover(const Recovery& recovery, std::span<const Tensor> members, size_t axis,
               int64_t length);

// The other way round: the parity of data, as long along the axis as the longest.
Tensor parity_of(std::span<const Tensor> data, std::span<const double> coefficients, size_t axis);

}  // namespace shoal::plan
