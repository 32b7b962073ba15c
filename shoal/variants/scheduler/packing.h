// The fractional multiple-choice knapsack with several resources, solved exactly [Han 2016]:
//
//   max  sum_g sum_c value_gc x_gc    s.t.  sum_c x_gc <= 1 for each group g,  x >= 0,
//                                           sum_g sum_c cost_gcr x_gc <= budget_r for each resource
//                                           r
//
// The relaxation of the scheduling problem: its value bounds every scheduler, and its dual
// variables price a unit of each resource.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace shoal::schedule {

inline constexpr size_t kResources = 3;  // joules, dollars, bytes
using Amounts = std::array<double, kResources>;

struct Choice {
  double value = 0;
  Amounts costs = {};
};
using ChoiceGroup = std::vector<Choice>;

struct Packing {
  double value = 0;
  Amounts prices = {};                      // of a unit of each resource
  std::vector<double> group_prices;         // value of a second choice in each group
  std::vector<std::vector<double>> shares;  // x, as the groups
};

// Choices that cost a resource without budget get no share. REQUIRES: values, costs and budgets are
// not negative; only budgets may be infinite.
Packing pack(std::span<const ChoiceGroup> groups, const Amounts& budgets);

}  // namespace shoal::schedule
