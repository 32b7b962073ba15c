// DepthToSpace moves channels into blocks of b x b pixels, SpaceToDepth moves them back. Both are
// one strided copy over six axes. Gradients go through permutation_gradient().
#include "shoal/base/limits.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The side b of a block. The bound keeps b * b, and the product of b with a dimension, within
// int64.
Result<int64_t> block_of(const Node& node) {
  SHOAL_ASSIGN(int64_t block, require_integer(node, "blocksize"));
  if (block < 1 || block > (int64_t{1} << 20)) {
    return invalid("blocksize " + std::to_string(block) + " is out of range");
  }
  return block;
}

// --- DepthToSpace: [n, c b b, h, w] -> [n, c, h b, w b]

// CRD: the b * b channels of one output channel lie together. DCR, the default: the channels of one
// pixel of the block do.
// DCR  y[n, c, h b + i, w b + j] = x[n, (i b + j) C + c, h, w]
// CRD  y[n, c, h b + i, w b + j] = x[n, c b b + i b + j, h, w]
bool channels_lie_together(const Node& node) { return node.text("mode", "DCR") == "CRD"; }

Result<std::vector<TensorType>> infer_to_space(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_rank(inputs[0], 4));
  SHOAL_ASSIGN(int64_t block, block_of(node));
  const std::string mode = node.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return invalid("unknown mode " + mode);
  const auto& [dtype, x] = inputs[0].type;
  if (x[1] % (block * block) != 0) {
    return invalid(std::to_string(x[1]) + " channels do not fill blocks of side " +
                   std::to_string(block));
  }
  return std::vector{TensorType{dtype, {x[0], x[1] / (block * block), x[2] * block, x[3] * block}}};
}

void to_space(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;  // the strides of an empty tensor may overflow below
  const int64_t b = *block_of(node);
  const Shape& x = inputs[0].shape();
  const int64_t h = x[2], w = x[3], c = x[1] / (b * b);
  const int64_t plane = h * w;
  // Steps in the input's channels along a block's row, along its column, and to the next channel.
  const bool together = channels_lie_together(node);
  const int64_t row = together ? b * plane : b * c * plane, column = together ? plane : c * plane;
  const int64_t channel = together ? b * b * plane : plane;
  const Shape shape{x[0], c, h, b, w, b};
  copy_strided(shape, size_of(inputs[0].dtype()),
               {inputs[0].bytes().data(), {x[1] * plane, channel, w, row, 1, column}},
               {outputs[0].bytes().data(), strides_of(shape)});
}

// A tile has whole blocks. In DCR order it has all channels too, since those of one block are
// spread over all of them.
std::optional<Tile> split_to_space(const Node& node, std::span<const Operand> inputs,
                                   const Region& output) {
  const int64_t b = *block_of(node), channels = inputs[0].type.shape[1];
  Region read = output, written = output;
  if (!channels_lie_together(node)) {
    written.begin[1] = 0;
    written.end[1] = channels / (b * b);
  }
  read.begin[1] = written.begin[1] * b * b;
  read.end[1] = written.end[1] * b * b;
  for (size_t d = 2; d < 4; ++d) {
    read.begin[d] = output.begin[d] / b;
    read.end[d] = (output.end[d] + b - 1) / b;
    written.begin[d] = read.begin[d] * b;
    written.end[d] = read.end[d] * b;
  }
  return Tile{{read}, written, node.attributes, {}};
}

// --- SpaceToDepth: [n, c, h b, w b] -> [n, b b c, h, w], the inverse of DCR

Result<std::vector<TensorType>> infer_to_depth(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_rank(inputs[0], 4));
  SHOAL_ASSIGN(int64_t block, block_of(node));
  const auto& [dtype, x] = inputs[0].type;
  if (x[2] % block != 0 || x[3] % block != 0) {
    return invalid("an image of " + std::to_string(x[2]) + " x " + std::to_string(x[3]) +
                   " is not made of blocks of side " + std::to_string(block));
  }
  if (x[1] > kLimits.max_dimension / (block * block)) return invalid("too many channels");
  return std::vector{TensorType{dtype, {x[0], x[1] * block * block, x[2] / block, x[3] / block}}};
}

void to_depth(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const int64_t b = *block_of(node);
  const Shape& x = inputs[0].shape();
  const int64_t c = x[1], h = x[2] / b, w = x[3] / b;
  const Shape shape{x[0], b, b, c, h, w};
  copy_strided(shape, size_of(inputs[0].dtype()),
               {inputs[0].bytes().data(), {c * x[2] * x[3], x[3], 1, x[2] * x[3], b * x[3], b}},
               {outputs[0].bytes().data(), strides_of(shape)});
}

// Cut in space only: an output channel has one pixel of every block, so a block needs them all.
std::optional<Tile> split_to_depth(const Node& node, std::span<const Operand> inputs,
                                   const Region& output) {
  const int64_t b = *block_of(node), channels = inputs[0].type.shape[1];
  Region read = output, written = output;
  written.begin[1] = read.begin[1] = 0;
  read.end[1] = channels;
  written.end[1] = channels * b * b;
  for (size_t d = 2; d < 4; ++d) {
    read.begin[d] = output.begin[d] * b;
    read.end[d] = output.end[d] * b;
  }
  return Tile{{read}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(depth_to_space) = {.name = "DepthToSpace",
                                .infer = infer_to_space,
                                .reference = to_space,
                                .split = split_to_space,
                                .linear = true,
                                .linear_time = true,
                                .gradient = permutation_gradient};

SHOAL_RECORD(space_to_depth) = {.name = "SpaceToDepth",
                                .infer = infer_to_depth,
                                .reference = to_depth,
                                .split = split_to_depth,
                                .linear = true,
                                .linear_time = true,
                                .gradient = permutation_gradient};

}  // namespace shoal::ops
