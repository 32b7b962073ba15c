// shoal operators: what can be run, and what is known about it. Makes docs/reference/operators.md.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli.h"
#include "shoal/cpu/cpu.h"
#include "shoal/ops/ops.h"
#include "table.h"

namespace shoal::cli {
namespace {

constexpr const char* kExamples = R"(
Examples:
  shoal operators                  a table
  shoal operators --markdown       docs/reference/operators.md)";

constexpr const char* kBefore = R"(# Operators

Made by `shoal operators --markdown`; do not edit.

Models of opsets 1 to 21 are read. `shoal/onnx` brings every node to the form and meaning of opset 17, which
is what the table lists; *own* operators are made by passes and written back to ONNX as what they stand for.
What other opsets name and these can say, such as AffineGrid, CenterCropPad, Scatter and Upsample, is read as well.
Every operator runs on every device: where a device has no kernel of its own, the reference function runs.

**splits**: a region of the output can be computed from regions of the inputs. **linear**: in its first input.
**in place**: the output may lie where the first input lies. **by value**: inputs whose elements decide the
output's shape; where they are not constant, the model runs in stages.

)";

constexpr const char* kAfter = R"(
## Where the ONNX definition and ONNX Runtime 1.30 differ

Shoal follows the definition (ONNX 1.12's own vectors):

- **DFT, STFT**: computed in double precision; ONNX Runtime differs from the vectors on all five cases.
- **MaxUnpool** with `output_shape`: indices address the inferred plane, values keep their coordinates in the
  larger output.
- **Resize** with `align_corners` and `scales`: the scale is applied to the unrounded length,
  `x_in = x_out * (L_in - 1) / (scale * L_in - 1)`.

## What is refused

Sequences, optionals, strings, `Loop`, `Scan`, training operators (`Adam`, `Adagrad`, `Momentum`,
`Gradient`), `TfIdfVectorizer` and `StringNormalizer`; element types of 8-bit and 4-bit floats and integers
beyond i8/u8. A model that uses any of them is refused with the list of all of them.
`tests/conformance/refused.txt` names each ONNX vector this concerns, with the reason.

Elements decide nothing about safety: an index out of range at run time reads the nearest element, an integer
division by zero gives 0, casts saturate.
)";

std::string value_inputs(const Operator& op) {
  std::string list;
  for (int i = 0; i < 32; ++i) {
    if ((op.value_inputs >> i & 1) != 0) list += (list.empty() ? "" : ", ") + std::to_string(i);
  }
  return list;
}

std::string cpu_kernels(const Operator& op) {
  std::string names;
  for (const std::string_view name : cpu_kernels_of(op)) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names.empty() ? "reference" : names + ", reference";
}

std::vector<std::string> row_of(const Operator& op) {
  auto mark = [](bool yes) { return std::string(yes ? "yes" : ""); };
  return {std::string(op.name),
          op.expand != nullptr ? "own" : "1–21",
          mark(op.split != nullptr),
          mark(op.linear),
          mark(op.in_place),
          value_inputs(op),
          cpu_kernels(op)};
}

Outcome list_operators(bool markdown) {
  const std::vector<std::string> header = {"operator", "opsets",   "splits", "linear",
                                           "in place", "by value", "cpu"};
  std::vector<const Operator*> sorted(ops::all().begin(), ops::all().end());
  std::ranges::sort(sorted, {}, [](const Operator* op) { return op->name; });
  if (!markdown) {
    Table table(header);
    for (const Operator* op : sorted) table.add(row_of(*op));
    table.print();
    return {};
  }
  auto print_row = [](const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::printf("| %s ", cell.c_str());
    std::printf("|\n");
  };
  std::printf("%s", kBefore);
  print_row(header);
  print_row(std::vector<std::string>(header.size(), "---"));
  for (const Operator* op : sorted) print_row(row_of(*op));
  std::printf("%s", kAfter);
  return {};
}

}  // namespace

void add_operators(Command& app, Action& action) {
  auto markdown = std::make_shared<bool>(false);
  Command* command =
      app.add_subcommand("operators", "List the operators and what is known of them");
  command->footer(kExamples);
  command->add_flag("--markdown", *markdown, "As a page of documentation");
  command->callback(
      [markdown, &action] { action = [markdown] { return list_operators(*markdown); }; });
}

}  // namespace shoal::cli
