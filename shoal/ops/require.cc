#include "shoal/ops/require.h"

#include <algorithm>

namespace shoal::ops {

Status require_same_type(std::span<const Operand> inputs) {
  for (const Operand& input : inputs) {
    if (input.given && input.type.dtype != inputs[0].type.dtype) {
      return invalid("inputs have different element types, " +
                     std::string(name_of(inputs[0].type.dtype)) + " and " +
                     std::string(name_of(input.type.dtype)));
    }
  }
  return {};
}

Result<size_t> require_axis(int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) {
    return invalid("axis " + std::to_string(axis) + " is out of range for rank " +
                   std::to_string(rank));
  }
  return axis_in(axis, rank);
}

Result<std::vector<size_t>> require_axes(std::span<const int64_t> axes, size_t rank) {
  std::vector<size_t> result;
  for (int64_t axis : axes) {
    SHOAL_ASSIGN(size_t one, require_axis(axis, rank));
    result.push_back(one);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) return invalid("an axis occurs twice");
  return result;
}

Status require_rank(const Operand& operand, size_t rank) {
  if (operand.type.shape.rank() == rank) return {};
  return invalid("has rank " + std::to_string(operand.type.shape.rank()) + ", should have rank " +
                 std::to_string(rank));
}

Result<std::vector<int64_t>> require_ints(const Operand& operand) {
  SHOAL_TRY(require<Indices>(operand));
  SHOAL_CHECK(operand.value != nullptr);
  return to_ints(*operand.value);
}

}  // namespace shoal::ops
