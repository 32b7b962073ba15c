// Checks that `infer` makes of its inputs, with the messages that users read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

inline Status unsupported_type(const Operand& operand) {
  return invalid("does not take elements of type " + std::string(name_of(operand.type.dtype)));
}

// require<Floats>(inputs[0]): refuses an input whose elements are not of the list.
template <class List>
Status require(const Operand& operand) {
  return List::contains(operand.type.dtype) ? Status() : unsupported_type(operand);
}

// All inputs given have the element type of the first.
Status require_same_type(std::span<const Operand> inputs);

// The axis in [0, rank), counted from the end if negative.
Result<size_t> require_axis(int64_t axis, size_t rank);

// Every axis in [0, rank), sorted; an axis twice is refused.
Result<std::vector<size_t>> require_axes(std::span<const int64_t> axes, size_t rank);

Status require_rank(const Operand& operand, size_t rank);

// The axis in [0, rank). REQUIRES: `infer` has accepted it.
inline size_t axis_in(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

// The inputs of `reference` in the form that `infer` takes, for functions that both call. The
// operands point into `inputs`.
std::vector<Operand> operands_of(std::span<const Tensor> inputs);

// An attribute that has no default.
Result<int64_t> require_integer(const Node& node, std::string_view key);

// Every input is given; for operators that take any number of them.
Status require_given(std::span<const Operand> inputs);

// The elements of a constant as int64; for value inputs such as a shape or axes (i32 or i64).
Result<std::vector<int64_t>> require_ints(const Operand& operand);

// The same for an input that lists axes or sizes: a vector, or a scalar for a list of one.
Result<std::vector<int64_t>> require_list(const Operand& operand);
// The inverse: the tensor of a list.
Tensor list_of(std::span<const int64_t> elements);
// The same, in the integer type of the list that it replaces.
Tensor list_like(const Operand& list, std::span<const int64_t> elements);

// One element, whatever its rank.
Status require_single(const Operand& operand);

}  // namespace shoal::ops
