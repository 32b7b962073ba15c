// Checks of inputs and attributes, and their messages.
#include "shoal/model/ops/require.h"

#include <algorithm>

#include "shoal/model/ops/convert.h"

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

// ONNX counts negative axes from the end: -1 is the last one.
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

std::vector<Operand> operands_of(std::span<const Tensor> inputs) {
  std::vector<Operand> operands;
  for (const Tensor& input : inputs) {
    operands.push_back({input.defined(), input.type(), input.defined() ? &input : nullptr});
  }
  return operands;
}

Result<int64_t> require_integer(const Node& node, std::string_view key) {
  const auto it = node.attributes.find(key);
  const auto* value = it == node.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  if (value == nullptr) return invalid("the attribute " + std::string(key) + " is missing");
  return *value;
}

Status require_given(std::span<const Operand> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].given) return invalid("input " + std::to_string(i) + " is missing");
  }
  return {};
}

// Graph refuses a node whose value inputs are not constant before it calls `infer`. A missing value
// is therefore a bug of ours, not an error of the model.
Result<std::vector<int64_t>> require_ints(const Operand& operand) {
  SHOAL_TRY(require<Indices>(operand));
  SHOAL_CHECK(operand.value != nullptr);
  return to_ints(*operand.value);
}

Result<std::vector<int64_t>> require_list(const Operand& operand) {
  if (operand.type.shape.rank() > 1) {
    return invalid("takes a list, got a tensor of shape " + to_string(operand.type.shape));
  }
  return require_ints(operand);
}

Tensor list_of(std::span<const int64_t> elements) {
  return Tensor::of<int64_t>({std::ssize(elements)}, elements);
}

Tensor list_like(const Operand& list, std::span<const int64_t> elements) {
  return converted(list_of(elements), list.type.dtype);
}

Status require_single(const Operand& operand) {
  if (operand.type.shape.count() == 1) return {};
  return invalid("takes one element, got a tensor of shape " + to_string(operand.type.shape));
}

}  // namespace shoal::ops
