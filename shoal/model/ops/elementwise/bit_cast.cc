// BitCast, of opset 26: the same bits as elements of another type of the same size. A byte that is
// neither 0 nor 1 becomes true where the type is bool.
#include <cstring>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_bit_cast(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t number, require_integer(node, "to"));
  SHOAL_ASSIGN(const DType dtype, require_dtype(number));
  if (size_of(dtype) != size_of(inputs[0].type.dtype)) {
    return invalid("elements of type " + std::string(name_of(inputs[0].type.dtype)) +
                   " do not have the size of " + std::string(name_of(dtype)));
  }
  return std::vector{TensorType{dtype, inputs[0].type.shape}};
}

void reference_bit_cast(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::span<const std::byte> from = inputs[0].bytes();
  const std::span<std::byte> to = outputs[0].bytes();
  if (outputs[0].dtype() == DType::kBool) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = std::byte{from[i] != std::byte{0}};
  } else if (!to.empty()) {
    std::memmove(to.data(), from.data(), to.size());
  }
}

}  // namespace

SHOAL_RECORD(bit_cast) = {.name = "BitCast",
                          .infer = infer_bit_cast,
                          .reference = reference_bit_cast,
                          .split = split_elementwise,
                          .elementwise = {.operands = 1},
                          .in_place = true,
                          .linear_time = true};

}  // namespace shoal::ops
