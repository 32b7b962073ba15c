// The equation of an Einsum, such as "bij,bjk->bik", parsed and checked against its inputs.
#pragma once

#include <array>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// A label is a letter, or an axis of an ellipsis, numbered from the right. Only the latter
// broadcast.
using Label = size_t;
constexpr Label kEllipsis = 52;
constexpr size_t kLabels = kEllipsis + Shape::kMaxRank;

using Term = std::vector<Label>;  // one label per axis

struct Equation {
  std::vector<Term> terms;
  Term output;
  std::array<int64_t, kLabels> size{};  // of a label
  std::array<bool, kLabels> used{};     // occurs in a term
};

// Refuses equations that do not fit the shapes of the inputs.
Result<Equation> parse_equation(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
