// Operators of the blocked layout. Each is defined by the plain operator that it stands for:
// infer() translates shapes to the plain layout, asks the plain operator and translates back, and
// the reference function converts tensors in the same way. The references are oracles for tests and
// a fallback for element types without a kernel; they are not meant to be fast.
#include "shoal/engine/cpu/layout/blocked.h"

#include <algorithm>
#include <array>
#include <string>

#include "shoal/base/checked.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {

Region of_all_channels(const Region& region, const Shape& shape) {
  Region all = Region::whole(shape);
  for (const size_t axis : {size_t{0}, size_t{2}, size_t{3}}) {
    all.begin[axis] = region.begin[axis];
    all.end[axis] = region.end[axis];
  }
  return all;
}

std::optional<Tile> split_pixels(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  const TensorType type = (*node.op->infer(node, inputs))[0];
  if (of_all_channels(output, type.shape) != output) return std::nullopt;
  Tile tile{.inputs = {}, .output = output, .attributes = node.attributes, .constants = {}};
  for (const Operand& input : inputs) {
    tile.inputs.push_back(of_all_channels(output, input.type.shape));
  }
  return tile;
}

namespace {

using ops::Convolution;

constexpr size_t kPlainRank = 4, kBlockedRank = 5;
constexpr size_t kWeights = 1, kBias = 2, kResidual = 3;

// Sizes come from attributes, which a file may set to anything.
Result<int64_t> require_count(const Node& node, std::string_view name) {
  SHOAL_ASSIGN(const int64_t count, ops::require_integer(node, name));
  if (count < 1) return invalid(std::string(name) + " is " + std::to_string(count));
  return count;
}

Shape plain_shape(const Shape& blocked, int64_t channels) {
  return {blocked[0], channels, blocked[2], blocked[3]};
}

Result<std::vector<TensorType>> infer_block(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[0], kPlainRank));
  SHOAL_ASSIGN(const int64_t block, require_count(node, "block"));
  const TensorType& x = inputs[0].type;
  return std::vector{TensorType{x.dtype, blocked_shape(x.shape, block)}};
}

Result<std::vector<TensorType>> infer_unblock(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[0], kBlockedRank));
  SHOAL_ASSIGN(const int64_t channels, require_count(node, "channels"));
  const TensorType& x = inputs[0].type;
  const Shape plain = plain_shape(x.shape, channels);
  // The number of channels must need exactly the blocks that are there.
  if (blocked_shape(plain, x.shape[4]) != x.shape) {
    return invalid(std::to_string(channels) + " channels are not in " + to_string(x));
  }
  return std::vector{TensorType{x.dtype, plain}};
}

// Calls f(offset in the plain tensor, offset in the blocked one) for every element of the former.
template <class F>
void for_each_element(const Shape& plain, int64_t block, const F& f) {
  const int64_t plane = plain[2] * plain[3], blocks = blocked_shape(plain, block)[1];
  for (int64_t n = 0; n < plain[0]; ++n) {
    for (int64_t c = 0; c < plain[1]; ++c) {
      const int64_t from = (n * plain[1] + c) * plane;
      const int64_t to = (n * blocks + c / block) * plane * block + c % block;
      for (int64_t i = 0; i < plane; ++i) f(from + i, to + i * block);
    }
  }
}

void block(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const size_t size = size_of(inputs[0].dtype());
  const std::byte* x = inputs[0].bytes().data();
  std::byte* y = outputs[0].bytes().data();
  // Zeros for the channels that fill up the last block.
  std::ranges::fill(outputs[0].bytes(), std::byte{0});
  for_each_element(inputs[0].shape(), outputs[0].shape()[4], [&](int64_t plain, int64_t blocked) {
    std::copy_n(x + static_cast<size_t>(plain) * size, size,
                y + static_cast<size_t>(blocked) * size);
  });
}

void unblock(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const size_t size = size_of(inputs[0].dtype());
  const std::byte* x = inputs[0].bytes().data();
  std::byte* y = outputs[0].bytes().data();
  for_each_element(outputs[0].shape(), inputs[0].shape()[4], [&](int64_t plain, int64_t blocked) {
    std::copy_n(x + static_cast<size_t>(blocked) * size, size,
                y + static_cast<size_t>(plain) * size);
  });
}

// Shape of the image in the plain layout. The weights know how many channels the last block has.
Shape image_shape(const Node& node, const Shape& x, const Shape& w) {
  if (x.rank() == kPlainRank) return x;
  const bool transposed = node.op == &blocked_conv_transpose;
  return plain_shape(x, transposed ? w[0] : w[1] * node.integer("group", 1));
}

// Inputs of the node as FusedConv or FusedConvTranspose would have them.
Result<std::vector<Operand>> plain_operands(const Node& node, std::span<const Operand> inputs,
                                            int64_t block) {
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  SHOAL_TRY(ops::require_rank(inputs[kWeights], kPlainRank));
  const Shape &x = inputs[0].type.shape, &w = inputs[kWeights].type.shape;
  if (x.rank() != kPlainRank) {
    SHOAL_TRY(ops::require_rank(inputs[0], kBlockedRank));
    plain[0].type.shape = image_shape(node, x, w);
    if (blocked_shape(plain[0].type.shape, block) != x) {
      return invalid("the image is " + to_string(x) + ", its channels are not in blocks of " +
                     std::to_string(block));
    }
  }
  return plain;
}

Status require_bound(const Node& node, const Operand& bound, const TensorType& product) {
  if (!bound.given) return {};
  if (!node.text("activation", "").empty()) return invalid("there are bounds and an activation");
  const TensorType wanted{DType::kF32, {product.shape[1]}};
  if (product.dtype == DType::kF32 && bound.type == wanted) return {};
  return invalid("a bound is " + to_string(bound.type) + ", should be " + to_string(wanted));
}

// Types of a product whose plain form is Base. The residual is left out when Base is asked, because
// it is in blocks: it must equal the result.
template <const Operator& Base>
Result<std::vector<TensorType>> infer_product(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t block, require_count(node, "block"));
  SHOAL_ASSIGN(std::vector<Operand> plain, plain_operands(node, inputs, block));
  plain.resize(std::min(inputs.size(), kResidual));
  SHOAL_ASSIGN(std::vector<TensorType> types, Base.infer(node, plain));
  for (size_t i = kLow; i < inputs.size(); ++i) {
    SHOAL_TRY(require_bound(node, inputs[i], types[0]));
  }
  types[0].shape = blocked_shape(types[0].shape, block);
  const bool has_residual = inputs.size() > kResidual && inputs[kResidual].given;
  if (has_residual && inputs[kResidual].type != types[0]) {
    return invalid("the residual is " + to_string(inputs[kResidual].type) + ", should be " +
                   to_string(types[0]));
  }
  return types;
}

// Applies f(element of y, element of the bound for its channel) to y [n, c, h, w].
template <class F>
void apply_bound(std::span<const Tensor> inputs, size_t bound, Tensor& y, const F& f) {
  if (inputs.size() <= bound || !inputs[bound].defined()) return;
  const int64_t channels = y.shape()[1], plane = y.shape()[2] * y.shape()[3];
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t c = i / plane % channels;
    float& x = y.data<float>()[static_cast<size_t>(i)];
    x = f(x, inputs[bound].data<float>()[static_cast<size_t>(c)]);
  }
}

template <const Operator& Base>
void compute_product(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  plain[0] = unblocked(inputs[0], image_shape(node, inputs[0].shape(), inputs[kWeights].shape()));
  const std::span without_residual = std::span(plain).first(std::min(plain.size(), kResidual));
  Tensor y((*Base.infer(node, ops::operands_of(without_residual)))[0]);
  if (inputs.size() > kResidual) plain[kResidual] = unblocked(inputs[kResidual], y.shape());
  plain.resize(std::min(plain.size(), Base.max_inputs));
  Base.reference(node, plain, std::span(&y, 1));
  apply_bound(inputs, kLow, y, [](float x, float low) { return x < low ? low : x; });
  apply_bound(inputs, kHigh, y, [](float x, float high) { return x > high ? high : x; });
  block(node, std::span(&y, 1), outputs);
}

Result<std::vector<TensorType>> infer_unblocking(const Node& node,
                                                 std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[0], kBlockedRank));
  SHOAL_ASSIGN(std::vector<Operand> plain,
               plain_operands(node, inputs, inputs[0].type.shape[kPlainRank]));
  return ops::fused_conv.infer(node, plain);
}

void compute_unblocking(const Node& node, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  plain[0] = unblocked(inputs[0], image_shape(node, inputs[0].shape(), inputs[kWeights].shape()));
  ops::fused_conv.reference(node, plain, outputs);
}

Result<std::vector<TensorType>> infer_turned(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[0], kPlainRank));
  SHOAL_TRY(ops::require<Types<float>>(inputs[0]));
  const Shape& w = inputs[0].type.shape;
  const int64_t groups = node.integer("group", 1);
  if (groups < 1 || w[0] % groups != 0) {
    return invalid(to_string(w) + " is not of " + std::to_string(groups) + " groups");
  }
  const Checked out = Checked(w[1]) * groups;
  if (!out.ok()) return invalid("there are too many filters");
  return std::vector{TensorType{DType::kF32, {out.value(), w[0] / groups, w[2], w[3]}}};
}

void turn(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& w = inputs[0].shape();
  // Turning by 180 degrees reverses the taps. Filters change from [m, c] to [c, m] in each group.
  const int64_t taps = w[2] * w[3], each = w[0] / node.integer("group", 1);
  const float* from = inputs[0].data<float>().data();
  for (int64_t m = 0; m < w[0]; ++m) {
    for (int64_t c = 0; c < w[1]; ++c, from += taps) {
      std::reverse_copy(
          from, from + taps,
          outputs[0].data<float>().data() + ((m / each * w[1] + c) * each + m % each) * taps);
    }
  }
}

Result<std::vector<TensorType>> infer_normalization(const Node& node,
                                                    std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_rank(inputs[0], kBlockedRank));
  SHOAL_TRY(ops::require_rank(inputs[1], 1));
  std::vector<Operand> plain(inputs.begin(), inputs.end());
  plain[0].type.shape = plain_shape(inputs[0].type.shape, inputs[1].type.shape[0]);
  SHOAL_ASSIGN(std::vector<TensorType> types, ops::instance_normalization.infer(node, plain));
  if (blocked_shape(types[0].shape, inputs[0].type.shape[4]) != inputs[0].type.shape) {
    return invalid("the image is " + to_string(inputs[0].type) + ", its channels are not " +
                   to_string(inputs[1].type.shape));
  }
  return std::vector{inputs[0].type};
}

void compute_normalization(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  std::vector<Tensor> plain(inputs.begin(), inputs.end());
  plain[0] = unblocked(inputs[0], plain_shape(inputs[0].shape(), inputs[1].count()));
  Tensor y(plain[0].type());
  ops::instance_normalization.reference(node, plain, std::span(&y, 1));
  block(node, std::span(&y, 1), outputs);
}

// The tile of Base, with image and residual in blocks.
template <const Operator& Base>
std::optional<Tile> split_product(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const TensorType type = (*node.op->infer(node, inputs))[0];
  if (of_all_channels(output, type.shape) != output) return std::nullopt;
  const int64_t block =
      type.shape.rank() == kBlockedRank ? type.shape[kPlainRank] : inputs[0].type.shape[kPlainRank];
  std::vector<Operand> plain = *plain_operands(node, inputs, block);
  plain.resize(std::min(inputs.size(), kResidual));
  const Shape shape = (*Base.infer(node, plain))[0].shape;
  std::optional<Tile> tile = Base.split(node, plain, of_all_channels(output, shape));
  if (!tile) return tile;
  tile->inputs[0] = of_all_channels(tile->inputs[0], inputs[0].type.shape);
  tile->output = output;
  for (size_t i = kResidual; i < inputs.size(); ++i) {
    tile->inputs.push_back(!inputs[i].given ? Region{}
                           : i == kResidual ? output
                                            : Region::whole(inputs[i].type.shape));
  }
  return tile;
}

int64_t macs(const Node& node, std::span<const Operand> inputs, std::span<const TensorType>) {
  const Shape &x = inputs[0].type.shape, &w = inputs[kWeights].type.shape;
  return ops::count_macs(node.op == &blocked_conv_transpose
                             ? blocked_transposed_convolution_of(node, x, w)
                             : blocked_convolution_of(node, x, w));
}

template <const Operator& Base>
constexpr Operator blocked_product(std::string_view name, size_t max_inputs) {
  return {.name = name,
          .min_inputs = kBias,
          .max_inputs = max_inputs,
          .infer = infer_product<Base>,
          .reference = compute_product<Base>,
          .split = split_product<Base>,
          .macs = macs};
}

}  // namespace

Tensor unblocked(const Tensor& x, const Shape& plain) {
  if (!x.defined() || x.shape() == plain) return x;
  Tensor y({x.dtype(), plain});
  unblock({}, std::span(&x, 1), std::span(&y, 1));
  return y;
}

Shape blocked_shape(const Shape& plain, int64_t block) {
  return {plain[0], (plain[1] + block - 1) / block, plain[2], plain[3], block};
}

Convolution blocked_convolution_of(const Node& node, const Shape& x, const Shape& w) {
  return ops::convolution_of(node, image_shape(node, x, w), w);
}

Convolution blocked_transposed_convolution_of(const Node& node, const Shape& x, const Shape& w) {
  return ops::transposed_convolution_of(node, image_shape(node, x, w), w);
}

SHOAL_RECORD(block_channels) = {
    .name = "BlockChannels", .infer = infer_block, .reference = block, .split = split_pixels};

SHOAL_RECORD(unblock_channels) = {
    .name = "UnblockChannels", .infer = infer_unblock, .reference = unblock, .split = split_pixels};

SHOAL_RECORD(blocked_conv) = blocked_product<ops::fused_conv>("BlockedConv", kHigh + 1);
SHOAL_RECORD(blocked_conv_transpose) =
    blocked_product<ops::fused_conv_transpose>("BlockedConvTranspose", kResidual + 1);

SHOAL_RECORD(unblocking_conv) = {.name = "UnblockingConv",
                                 .min_inputs = kBias,
                                 .max_inputs = kResidual + 1,
                                 .infer = infer_unblocking,
                                 .reference = compute_unblocking,
                                 .split = split_product<ops::fused_conv>,
                                 .macs = macs};

SHOAL_RECORD(turn_filters) = {.name = "TurnFilters", .infer = infer_turned, .reference = turn};

SHOAL_RECORD(blocked_instance_normalization) = {.name = "BlockedInstanceNormalization",
                                                .min_inputs = 3,
                                                .max_inputs = 3,
                                                .infer = infer_normalization,
                                                .reference = compute_normalization};

}  // namespace shoal::cpu
