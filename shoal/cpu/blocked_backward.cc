#include "shoal/cpu/blocked_backward.h"

#include <string>
#include <vector>

#include "shoal/cpu/blocked.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr size_t kPlainRank = 4;

// A shape with the channels that the attribute says; as it is if they are not in blocks.
Result<Shape> plain_shape(const Node& node, std::string_view channels, const Shape& shape) {
  if (shape.rank() == kPlainRank) return shape;
  SHOAL_ASSIGN(const int64_t count, ops::require_integer(node, channels));
  const bool fits = shape.rank() == kPlainRank + 1 && count > 0 && shape[4] > 0 &&
                    (count - 1) / shape[4] + 1 == shape[1];
  if (!fits) {
    return invalid(std::to_string(count) + " channels are not in blocks of " + to_string(shape));
  }
  return Shape{shape[0], count, shape[2], shape[3]};
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  if (node.integer("group", 1) != 1) return invalid("blocks have no groups");
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  SHOAL_ASSIGN(plain[0].type.shape, plain_shape(node, "in", inputs[0].type.shape));
  SHOAL_ASSIGN(plain[1].type.shape, plain_shape(node, "out", inputs[1].type.shape));
  return ops::conv_weights_backward.infer(node, plain);
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<Tensor> plain{
      unblocked(inputs[0], *plain_shape(node, "in", inputs[0].shape())),
      unblocked(inputs[1], *plain_shape(node, "out", inputs[1].shape())),
  };
  ops::conv_weights_backward.reference(node, plain, outputs);
}

int64_t macs(const Node& node, std::span<const Operand> inputs,
             std::span<const TensorType> outputs) {
  return ops::count_macs(blocked_convolution_behind(node, inputs[0].type.shape, outputs[0].shape));
}

}  // namespace

ops::Convolution blocked_convolution_behind(const Node& node, const Shape& x, const Shape& w) {
  return ops::convolution_of(node, *plain_shape(node, "in", x), w);
}

SHOAL_RECORD(blocked_conv_weights_backward) = {.name = "BlockedConvWeightsBackward",
                                               .min_inputs = 2,
                                               .max_inputs = 2,
                                               .max_outputs = 2,
                                               .infer = infer,
                                               .reference = reference,
                                               .macs = macs};

}  // namespace shoal::cpu
