// NarrowCast, our own operator: rounds each element to an element type of ONNX that Shoal's tensors
// lack, such as float8e4m3fn. `type` is the number of that type; the output has the type that holds
// it (narrow_type.h). In ONNX it is a Cast; no opset that Shoal writes has these types.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/narrow_type.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_narrow_cast(const Node& node,
                                                  std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t number, require_integer(node, "type"));
  const NarrowType* type = find_narrow_type(number);
  if (type == nullptr) return invalid("type " + std::to_string(number) + " is not a narrow one");
  const std::string mode = node.text("round_mode", "up");
  if (mode != "up" && mode != "down" && mode != "nearest") {
    return invalid("round_mode is up, down or nearest");
  }
  return std::vector{TensorType{type->held, inputs[0].type.shape}};
}

void reference_narrow_cast(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  const std::string mode = node.text("round_mode", "up");
  const Rounding rounding{node.integer("saturate", 1) != 0, mode == "up" ? Rounding::Power::kUp
                                                            : mode == "down"
                                                                ? Rounding::Power::kDown
                                                                : Rounding::Power::kClosest};
  round_to(*find_narrow_type(node.integer("type", 0)), rounding, inputs[0], outputs[0]);
}

}  // namespace

SHOAL_RECORD(narrow_cast) = {.name = "NarrowCast",
                             .infer = infer_narrow_cast,
                             .reference = reference_narrow_cast,
                             .split = split_elementwise,
                             .elementwise = {.operands = 1},
                             .linear_time = true};

}  // namespace shoal::ops
