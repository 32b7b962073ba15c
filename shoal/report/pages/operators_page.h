// A table of operators: the opsets read, splits, kernels, and differences from ONNX Runtime.
#pragma once

#include <string>
#include <vector>

namespace shoal::report {

struct OperatorTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // ONNX's operators, then our own
};
OperatorTable operator_table();

// docs/reference/operators.md in Markdown, with refusals and differences from ONNX Runtime.
std::string operators_page();

}  // namespace shoal::report
