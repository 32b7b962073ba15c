#include "shoal/report/pages/operators_page.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/onnx/opsets/normalize.h"
#include "shoal/model/onnx/opsets/versions.h"
#include "shoal/model/onnx/program/program.h"
#include "shoal/model/ops/ops.h"

namespace shoal::report {
namespace {

constexpr const char* kPeer = "ONNX Runtime 1.30";

constexpr const char* kBefore = R"(# Operators

Made by `shoal operators --markdown`; do not edit.

Models of opsets 1 to 27 and of every IR version from 3 on are read. `shoal/model/onnx` brings every node to the form and
meaning of opset 17, where there is one: that is what the columns after the opsets are about. A model of a newer opset
is read as one of 27, with a warning, if none of its nodes has an input or an attribute that opset 27 does not know.
Every operator runs on every device: where a device has no kernel of its own, the reference function runs.

**opsets**: those that are read, and in brackets those that changed the operator. **ONNX Runtime 1.30**: the opsets that
it has a CPU kernel for. **splits**: a region of the output can be computed from regions of the inputs. **linear**: in
its first input. **in place**: the output may lie where the first input lies. **by value**: inputs whose elements decide
the output's shape; where they are not constant, the model runs in stages. **cpu**: kernels, or the operators that the
node becomes while the model is read.

)";

constexpr const char* kOwn = R"(
## Our own

Made by passes, and written back to ONNX as what they stand for, where opset 17 can say it.

)";

constexpr const char* kRefusedTitle = R"(
## What is refused

A model that uses any of these is refused with the list of all of them. `tests/conformance/refused_1.22.txt` and
`refused_1.12.txt` name each of ONNX's vectors that this concerns, with the reason.

)";

constexpr const char* kAfter = R"(
Also the domains `ai.onnx.ml` (trees and tables, not networks), `ai.onnx.preview` (still changing) and
`ai.onnx.preview.training` (training has its own optimisers); tensors of strings and complex numbers; inputs and outputs
of a model that are sequences or optionals; a Loop whose rounds end by what it
computes, and the Scan of opset 8.

## What opsets 22 to 27 changed

Most operators that they list gained element types only. What else they changed, and what becomes of it:

|opset|operator|change|here|
|---|---|---|---|
|23, 24, 25|Attention|new; then `nonpad_kv_seqlen`; then windows|our own Attention, with masks made of nodes|
|23|RMSNormalization, RotaryEmbedding|new|a record; nodes|
|23|QuantizeLinear|`precision`|not read: the division is in f32|
|23|DequantizeLinear|`output_dtype`|read|
|24|Cast, CastLike|`round_mode` of float8e8m0|read|
|24|Swish, TensorScatter|new|a record; nodes|
|26|BitCast, CumProd|new|records|
|27|CausalConvWithState, LinearAttention|new|nodes; a record|
|27|Range|`stash_type`|not read: floats are computed in f64|

## Element types

Tensors are f32, f64, f16, bf16, i8 to i64, u8 to u64 and bool. ONNX's other types of numbers are held in the smallest of
these that has all their values, also where they are inputs or outputs of a model: float8e4m3fn, float8e4m3fnuz,
float8e5m2, float8e5m2fnuz and float4e2m1 in f16, float8e8m0 in f32, int4 and int2 in i8, uint4 and uint2 in u8. In a
file they are packed, as ONNX has it. Cast, CastLike and QuantizeLinear round to them; no other operator does.

## Where the ONNX definition and ONNX Runtime 1.30 differ

Shoal follows the definition (ONNX's own vectors):

- **DFT, STFT**: computed in double precision; ONNX Runtime differs from the vectors of ONNX 1.12 on all five cases.
- **MaxUnpool** with `output_shape`: indices address the inferred plane, values keep their coordinates in the
  larger output.
- **Resize** with `align_corners` and `scales`: the scale is applied to the unrounded length,
  `x_in = x_out * (L_in - 1) / (scale * L_in - 1)`.

Elements decide nothing about safety: an index out of range at run time reads the nearest element, an integer
division by zero gives 0, casts saturate.
)";

// The opsets of an operator that ONNX Runtime runs.
struct PeerOpsets {
  std::string_view op;
  int first, last;  // last = 0: all from the first on
};
constexpr PeerOpsets kPeerOpsets[] = {
#include "peer_opsets.inc"
};

// Operators of ONNX that are no nodes: they are gone once a model is bound.
constexpr std::string_view kBound[] = {"Constant", "If", "Loop", "Scan"};

struct Refusal {
  std::string_view op, reason;
};
constexpr std::string_view kText = "text: made into numbers before the model, by a tokeniser";
constexpr Refusal kRefusals[] = {
    {"ImageDecoder", "images are decoded before the model, by `shoal/engine/inputs`"},
    {"RegexFullMatch", kText},
    {"StringConcat", kText},
    {"StringNormalizer", kText},
    {"StringSplit", kText},
    {"TfIdfVectorizer", kText},
};

std::string joined(const auto& parts, auto text) {
  std::string all;
  for (const auto& part : parts) all += (all.empty() ? "" : ", ") + std::string(text(part));
  return all;
}

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

using Row = std::vector<std::string>;

std::string peer_opsets(std::string_view op) {
  const auto* const it = std::ranges::find(kPeerOpsets, op, &PeerOpsets::op);
  if (it == std::end(kPeerOpsets)) return "";
  return std::to_string(it->first) + (it->last == 0 ? "+" : "–" + std::to_string(it->last));
}

// "1–27 (6, 13)"
std::string opsets(const onnx::OperatorHistory& history) {
  std::string text =
      std::to_string(history.opsets.front()) + "–" + std::to_string(onnx::kNewestOpset);
  const auto changes = std::span(history.opsets).subspan(1);
  if (changes.empty()) return text;
  return text + " (" + joined(changes, [](int64_t opset) { return std::to_string(opset); }) + ")";
}

// What the record of an operator says, from "splits" to "cpu".
void append_record(const Operator& op, Row& row) {
  auto mark = [](bool yes) { return std::string(yes ? "yes" : ""); };
  for (std::string cell : {mark(op.split != nullptr), mark(op.linear), mark(op.in_place),
                           value_inputs(op), cpu_kernels(op)}) {
    row.push_back(std::move(cell));
  }
}

bool is_bound(std::string_view op) {
  return onnx::is_sequence_operator(op) || std::ranges::find(kBound, op) != std::end(kBound);
}

Row row_of(const onnx::OperatorHistory& history) {
  Row row = {std::string(history.name), opsets(history), peer_opsets(history.name)};
  if (is_bound(history.name)) {
    row.insert(row.end(), {"", "", "", "", "gone once the model is bound"});
    return row;
  }
  const auto targets = onnx::targets_of(history.name, onnx::kNewestOpset);
  if (std::ranges::find(targets, history.name) != targets.end() && history.name != "Attention") {
    append_record(*ops::find(history.name), row);
  } else {
    const auto text = [](std::string_view name) { return name; };
    row.insert(row.end(), {"", "", "", "", "as " + joined(targets, text)});
  }
  return row;
}

bool is_read(const onnx::OperatorHistory& history) {
  return onnx::supported(history.name, "", onnx::kNewestOpset) || is_bound(history.name);
}

std::vector<Row> rows_of_onnx() {
  std::vector<Row> rows;
  for (const onnx::OperatorHistory& history : onnx::operator_histories()) {
    if (is_read(history)) rows.push_back(row_of(history));
  }
  return rows;
}

// Attention is ours, and ONNX's at once, with another meaning.
std::vector<Row> rows_of_own() {
  std::vector<const Operator*> sorted(ops::all().begin(), ops::all().end());
  std::ranges::sort(sorted, {}, [](const Operator* op) { return op->name; });
  std::vector<Row> rows;
  for (const Operator* op : sorted) {
    if (onnx::find_history(op->name) != nullptr && op->name != "Attention") continue;
    append_record(*op, rows.emplace_back(Row{std::string(op->name)}));
  }
  return rows;
}

std::vector<Row> rows_of_refused() {
  std::vector<Row> rows;
  for (const onnx::OperatorHistory& history : onnx::operator_histories()) {
    if (is_read(history)) continue;
    const auto* const it = std::ranges::find(kRefusals, history.name, &Refusal::op);
    SHOAL_CHECK(it != std::end(kRefusals));
    rows.push_back({std::string(history.name), peer_opsets(history.name), std::string(it->reason)});
  }
  return rows;
}

std::string markdown(const Row& header, const std::vector<Row>& rows) {
  std::string text;
  const auto add = [&](const Row& cells) {
    for (const std::string& cell : cells) text += "|" + cell;
    text += "|\n";
  };
  add(header);
  add(Row(header.size(), "---"));
  for (const Row& row : rows) add(row);
  return text;
}

Row header_of_onnx() {
  return {"operator", "opsets", kPeer, "splits", "linear", "in place", "by value", "cpu"};
}

}  // namespace

OperatorTable operator_table() {
  OperatorTable table{header_of_onnx(), rows_of_onnx()};
  for (Row& row : rows_of_own()) {
    row.insert(row.begin() + 1, {"own", ""});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string operators_page() {
  const Row of_own = {"operator", "splits", "linear", "in place", "by value", "cpu"};
  return kBefore + markdown(header_of_onnx(), rows_of_onnx()) + kOwn +
         markdown(of_own, rows_of_own()) + kRefusedTitle +
         markdown({"operator", kPeer, "reason"}, rows_of_refused()) + kAfter;
}

}  // namespace shoal::report
