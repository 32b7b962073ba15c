// The history of ONNX's operators, a table made from versions.inc.
#include <algorithm>

#include "shoal/model/onnx/opsets/normalize.h"

namespace shoal::onnx {

std::span<const OperatorHistory> operator_histories() {
  static const auto* const table = new std::vector<OperatorHistory>{
#include "shoal/model/onnx/opsets/versions.inc"
  };
  return *table;
}

const OperatorHistory* find_history(std::string_view name) {
  const auto table = operator_histories();
  const auto it = std::ranges::lower_bound(table, name, {}, &OperatorHistory::name);
  return it == table.end() || it->name != name ? nullptr : &*it;
}

bool is_defined_in(std::string_view op, int64_t opset) {
  const OperatorHistory* history = find_history(op);
  return history != nullptr && history->opsets.front() <= opset;
}

bool fits_newest_form(std::string_view op, size_t inputs,
                      std::span<const std::string_view> attributes) {
  const OperatorHistory* history = find_history(op);
  return history != nullptr && inputs <= history->max_inputs &&
         std::ranges::all_of(attributes, [&](std::string_view name) {
           return std::ranges::find(history->attributes, name) != history->attributes.end();
         });
}

}  // namespace shoal::onnx
