// Operators of training in the blocked layout, defined by the plain operators like those of
// blocked.cc. The number of channels in the last block comes from attributes, or from the scale of
// a normalisation, because weights are an output here.
#include <string>
#include <vector>

#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr size_t kPlainRank = 4;

Result<Shape> plain_shape(const Shape& shape, int64_t count) {
  const bool fits = shape.rank() == kPlainRank + 1 && count > 0 && shape[4] > 0 &&
                    (count - 1) / shape[4] + 1 == shape[1];  // ceil, without overflow
  if (!fits) {
    return invalid(std::to_string(count) + " channels are not in blocks of " + to_string(shape));
  }
  return Shape{shape[0], count, shape[2], shape[3]};
}

// Plain shape with the number of channels that the attribute has. A plain tensor is returned as it
// is.
Result<Shape> plain_shape(const Node& node, std::string_view channels, const Shape& shape) {
  if (shape.rank() == kPlainRank) return shape;
  SHOAL_ASSIGN(const int64_t count, ops::require_integer(node, channels));
  return plain_shape(shape, count);
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  SHOAL_ASSIGN(plain[0].type.shape, plain_shape(node, "in", inputs[0].type.shape));
  SHOAL_ASSIGN(plain[1].type.shape, plain_shape(node, "out", inputs[1].type.shape));
  const int64_t groups = node.integer("group", 1);
  const bool depthwise = groups == plain[0].type.shape[1] && groups == plain[1].type.shape[1];
  if (groups != 1 && !depthwise) return invalid("blocks have no groups");
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

// Types of a normalisation. The scale, input 1, has one element per channel. Inputs that are
// images, and output 0, are in blocks.
template <const Operator& Base>
Result<std::vector<TensorType>> infer_normalization(const Node& node,
                                                    std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[1], 1));
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  for (Operand& input : plain) {
    if (input.type.shape.rank() == 1) continue;
    SHOAL_ASSIGN(input.type.shape, plain_shape(input.type.shape, inputs[1].type.shape[0]));
  }
  SHOAL_ASSIGN(std::vector<TensorType> types, Base.infer(node, plain));
  types[0] = inputs[0].type;
  return types;
}

template <const Operator& Base>
void compute_normalization(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  for (Tensor& input : plain) {
    if (input.shape().rank() > 1)
      input = unblocked(input, *plain_shape(input.shape(), inputs[1].count()));
  }
  std::vector<Tensor> results(outputs.begin(), outputs.end());
  results[0] = Tensor(plain[0].type());
  Base.reference(node, plain, results);
  block_channels.reference(node, std::span(results).first(1), outputs.first(1));
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

SHOAL_RECORD(blocked_batch_normalization) = {
    .name = "BlockedBatchNormalization",
    .min_inputs = 5,
    .max_inputs = 5,
    .max_outputs = 3,
    .infer = infer_normalization<ops::batch_normalization>,
    .reference = compute_normalization<ops::batch_normalization>};

SHOAL_RECORD(blocked_batch_normalization_backward) = {
    .name = "BlockedBatchNormalizationBackward",
    .min_inputs = 3,
    .max_inputs = 3,
    .max_outputs = 3,
    .infer = infer_normalization<ops::batch_normalization_backward>,
    .reference = compute_normalization<ops::batch_normalization_backward>};

}  // namespace shoal::cpu
