#include "shoal/engine/cpu/layout/select_channels.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "shoal/base/checked.h"
#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::cpu {
namespace {

constexpr size_t kBlockedRank = 5;

Status require_blocks(const Operand& input, const TensorType& first, int64_t channels) {
  Shape shape = input.type.shape;
  const Shape plain{shape[0], channels, shape[2], shape[3]};
  if (channels < 1 || blocked_shape(plain, shape[4]) != shape) {
    return invalid(std::to_string(channels) + " channels are not in " + to_string(input.type));
  }
  shape[1] = first.shape[1];
  if (shape == first.shape && input.type.dtype == first.dtype) return {};
  return invalid(to_string(first) + " and " + to_string(input.type) +
                 " differ in more than blocks");
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(ops::require_given(inputs));
  const std::vector<int64_t> channels = node.integers("channels"), from = node.integers("from");
  if (channels.size() != inputs.size()) return invalid("channels of every input are needed");
  Checked total = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHOAL_TRY(ops::require_rank(inputs[i], kBlockedRank));
    SHOAL_TRY(require_blocks(inputs[i], inputs[0].type, channels[i]));
    total = total + channels[i];
  }
  const bool known = std::ranges::all_of(
      from, [&](int64_t channel) { return channel >= 0 && channel < total.value(); });
  if (!total.ok() || !known || from.empty()) return invalid("there is no such channel");
  TensorType type = inputs[0].type;
  const int64_t block = type.shape[4];
  type.shape[1] = (std::ssize(from) + block - 1) / block;
  return std::vector{type};
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<int64_t> channels = node.integers("channels"), from = node.integers("from");
  const Shape& y = outputs[0].shape();
  const int64_t pixels = y[2] * y[3], block = y[4];
  const size_t size = size_of(outputs[0].dtype());
  // Zeros for the channels that fill up the last block.
  std::ranges::fill(outputs[0].bytes(), std::byte{0});
  for (int64_t c = 0; c < std::ssize(from); ++c) {
    int64_t channel = from[static_cast<size_t>(c)];
    size_t i = 0;
    for (; channel >= channels[i]; ++i) channel -= channels[i];
    for (int64_t n = 0; n < y[0]; ++n) {
      const auto place = [&](int64_t blocks, int64_t at, int64_t pixel) {
        return static_cast<size_t>(((n * blocks + at / block) * pixels + pixel) * block +
                                   at % block) *
               size;
      };
      for (int64_t p = 0; p < pixels; ++p) {
        std::memcpy(outputs[0].bytes().data() + place(y[1], c, p),
                    inputs[i].bytes().data() + place(inputs[i].shape()[1], channel, p), size);
      }
    }
  }
}

}  // namespace

SHOAL_RECORD(select_channels) = {.name = "SelectChannels",
                                 .max_inputs = kAnyNumber,
                                 .infer = infer,
                                 .reference = reference,
                                 .split = split_pixels,
                                 .linear_time = true};

}  // namespace shoal::cpu
