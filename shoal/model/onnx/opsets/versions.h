// The history of ONNX's operators, as data: which opsets changed each of them. It was read up to
// kNewestOpset, and the normalize_*.cc take every change into account.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace shoal::onnx {

inline constexpr int64_t kNewestOpset = 27;

struct OperatorHistory {
  std::string_view name;
  std::vector<int64_t> opsets;  // that defined or changed it, ascending
  // Of its newest form.
  size_t max_inputs;
  std::vector<std::string_view> attributes;
};

std::span<const OperatorHistory> operator_histories();       // by name
const OperatorHistory* find_history(std::string_view name);  // null: not an operator of ONNX
bool is_defined_in(std::string_view op, int64_t opset);      // by this opset or an earlier one

// Whether a node of a later opset can be taken for one of kNewestOpset: all that it has, the
// operator's newest known form has, too. An opset that changes an operator adds to its form, or
// only to its types, which are checked anyway.
bool fits_newest_form(std::string_view op, size_t inputs,
                      std::span<const std::string_view> attributes);

}  // namespace shoal::onnx
