// Lookup, our own operator: y = table[x] for bytes, where the table has 256 entries and an i8 x is
// read as the byte that stores it. Every function of one quantised number, rounding included, is
// such a table.
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr int64_t kEntries = 256;

Result<std::vector<TensorType>> infer_lookup(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bytes>(inputs[0]));
  SHOAL_TRY(require<Bytes>(inputs[1]));
  if (inputs[1].type.shape != Shape{kEntries}) {
    return invalid("the table has shape " + to_string(inputs[1].type.shape) + ", should have " +
                   to_string(Shape{kEntries}));
  }
  return std::vector{TensorType{inputs[1].type.dtype, inputs[0].type.shape}};
}

void reference_lookup(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto table = inputs[1].bytes();
  std::ranges::transform(inputs[0].bytes(), outputs[0].bytes().begin(),
                         [&](std::byte x) { return table[static_cast<size_t>(x)]; });
}

std::optional<Tile> split_lookup(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  return Tile{{output, Region::whole(inputs[1].type.shape)}, output, node.attributes, {}};
}

// Gather counts negative indices from the end, which is where the bytes of negative numbers are.
Result<std::vector<ValueId>> expand_lookup(const Node&, std::span<const ValueId> inputs,
                                           Graph& graph) {
  SHOAL_ASSIGN(const ValueId indices,
               graph.add(cast, {inputs[0]}, {{"to", onnx_number_of(DType::kI32)}}));
  SHOAL_ASSIGN(const ValueId y, graph.add(gather, {inputs[1], indices}));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(lookup) = {.name = "Lookup",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .infer = infer_lookup,
                        .reference = reference_lookup,
                        .split = split_lookup,
                        .in_place = true,
                        .expand = expand_lookup};

}  // namespace shoal::ops
