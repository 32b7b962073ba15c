// Quantised operators in the blocked layout, defined by the plain operators like those of
// blocked.cc. Channels that fill up a block hold bytes of no meaning; weights that meet them are
// zero.
#include <algorithm>

#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

using In = QConvInputs;

constexpr size_t kPlainRank = 4, kBlockedRank = 5;

// Shape of a tensor in the plain layout.
Shape plain_shape(const Shape& x, int64_t channels) {
  return x.rank() == kBlockedRank ? Shape{x[0], channels, x[2], x[3]} : x;
}

int64_t channels_of_image(const Node& node, const Shape& w) {
  return w[1] * node.integer("group", 1);
}

Result<int64_t> require_count(const Node& node, std::string_view name) {
  SHOAL_ASSIGN(const int64_t count, ops::require_integer(node, name));
  if (count < 1) return invalid(std::string(name) + " is " + std::to_string(count));
  return count;
}

Status require_blocks(const Operand& x, int64_t channels, int64_t block) {
  SHOAL_TRY(ops::require_rank(x, kBlockedRank));
  const Shape& shape = x.type.shape;
  if (blocked_shape(plain_shape(shape, channels), block) == shape) return {};
  return invalid(std::to_string(channels) + " channels in blocks of " + std::to_string(block) +
                 " are not " + to_string(shape));
}

Result<std::vector<TensorType>> infer_conv(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t block, require_count(node, "block"));
  SHOAL_TRY(ops::require_rank(inputs[In::kW], kPlainRank));
  const Shape& w = inputs[In::kW].type.shape;
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  if (inputs[In::kX].type.shape.rank() != kPlainRank) {
    const int64_t channels = channels_of_image(node, w);
    SHOAL_TRY(require_blocks(inputs[In::kX], channels, block));
    plain[In::kX].type.shape = plain_shape(inputs[In::kX].type.shape, channels);
  }
  if (inputs.size() > In::kResidual && inputs[In::kResidual].given) {
    SHOAL_TRY(require_blocks(inputs[In::kResidual], w[0], block));
    // The residual has the channels of the output; the weights know how many there are.
    plain[In::kResidual].type.shape = plain_shape(inputs[In::kResidual].type.shape, w[0]);
  }
  SHOAL_ASSIGN(std::vector<TensorType> types, ops::fused_q_linear_conv.infer(node, plain));
  types[0].shape = blocked_shape(types[0].shape, block);
  return types;
}

Tensor unblocked(const Tensor& x, int64_t channels) {
  const Shape plain = plain_shape(x.shape(), channels);
  if (x.shape() == plain) return x;
  Tensor y({x.dtype(), plain});
  unblock_channels.reference({}, std::span(&x, 1), std::span(&y, 1));
  return y;
}

void convolve(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& w = inputs[In::kW].shape();
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  plain[In::kX] = unblocked(inputs[In::kX], channels_of_image(node, w));
  if (inputs.size() > In::kResidual) {
    plain[In::kResidual] = unblocked(inputs[In::kResidual], w[0]);
  }
  Tensor y({outputs[0].dtype(), plain_shape(outputs[0].shape(), w[0])});
  ops::fused_q_linear_conv.reference(node, plain, std::span(&y, 1));
  block_channels.reference({}, std::span(&y, 1), outputs);
}

int64_t macs(const Node& node, std::span<const Operand> inputs, std::span<const TensorType>) {
  return ops::count_macs(
      blocked_convolution_of(node, inputs[In::kX].type.shape, inputs[In::kW].type.shape));
}

Result<std::vector<TensorType>> infer_average(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t channels, require_count(node, "channels"));
  SHOAL_TRY(ops::require_rank(inputs[0], kBlockedRank));
  SHOAL_TRY(require_blocks(inputs[0], channels, inputs[0].type.shape[4]));
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  plain[0].type.shape = plain_shape(inputs[0].type.shape, channels);
  return ops::q_linear_global_average_pool.infer(node, plain);
}

void average(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  plain[0] = unblocked(inputs[0], outputs[0].shape()[1]);
  ops::q_linear_global_average_pool.reference(node, plain, outputs);
}

}  // namespace

SHOAL_RECORD(blocked_q_linear_conv) = {.name = "BlockedQLinearConv",
                                       .min_inputs = In::kBias,
                                       .max_inputs = In::kSumZeroPoint + 1,
                                       .infer = infer_conv,
                                       .reference = convolve,
                                       .macs = macs};

SHOAL_RECORD(blocked_q_linear_global_average_pool) = {.name = "BlockedQLinearGlobalAveragePool",
                                                      .min_inputs = 5,
                                                      .max_inputs = 5,
                                                      .infer = infer_average,
                                                      .reference = average};

}  // namespace shoal::cpu
