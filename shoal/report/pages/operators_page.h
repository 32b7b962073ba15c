// What is known of each operator: opsets that are read, splits, kernels, and what ONNX Runtime
// runs.
#pragma once

#include <string>
#include <vector>

namespace shoal::report {

struct OperatorTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // ONNX's operators, then our own
};
OperatorTable operator_table();

// docs/reference/operators.md, with what is refused and where ONNX Runtime differs. In Markdown.
std::string operators_page();

}  // namespace shoal::report
