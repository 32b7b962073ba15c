// ReverseSequence: y[t, b] = x[t < len[b] ? len[b] - 1 - t : t, b], the first len[b] steps of each
// sequence b reversed. It is its own gradient, computed by permutation_gradient() if the lengths
// are constant.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

struct Axes {
  size_t time, batch;
};

// A negative axis becomes a large number here, which `infer` refuses.
Axes axes_of(const Node& node) {
  return {static_cast<size_t>(node.integer("time_axis", 0)),
          static_cast<size_t>(node.integer("batch_axis", 1))};
}

Result<std::vector<TensorType>> infer_reverse_sequence(const Node& node,
                                                       std::span<const Operand> inputs) {
  const Shape& shape = inputs[0].type.shape;
  if (shape.rank() < 2) return invalid("needs a time axis and a batch axis");
  const auto [time, batch] = axes_of(node);
  if (time > 1 || batch > 1 || time == batch) {
    return invalid("time_axis and batch_axis should be 0 and 1, in either order");
  }
  SHOAL_TRY(require<Indices>(inputs[1]));
  if (inputs[1].type.shape != Shape{shape[batch]}) {
    return invalid("has " + to_string(inputs[1].type.shape) + " lengths for a batch of " +
                   std::to_string(shape[batch]));
  }
  return std::vector{inputs[0].type};
}

void reference_reverse_sequence(const Node& node, std::span<const Tensor> inputs,
                                std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  if (shape.count() == 0) return;
  const auto [time, batch] = axes_of(node);
  const Strides strides = strides_of(shape);
  const int64_t time_step = strides[time], batch_step = strides[batch];
  const size_t size = size_of(inputs[0].dtype());
  const size_t bytes = static_cast<size_t>(shape.count(2, shape.rank())) * size;
  const std::vector<int64_t> lengths = to_ints(inputs[1]);
  auto offset = [&](int64_t t, int64_t b) {
    return static_cast<size_t>(t * time_step + b * batch_step) * size;
  };
  for (int64_t b = 0; b < shape[batch]; ++b) {
    // A length out of range comes from the data at run time. It is clamped, not refused.
    const auto length = std::clamp<int64_t>(lengths[static_cast<size_t>(b)], 0, shape[time]);
    for (int64_t t = 0; t < shape[time]; ++t) {
      const int64_t source = t < length ? length - 1 - t : t;
      std::memcpy(outputs[0].bytes().data() + offset(t, b),
                  inputs[0].bytes().data() + offset(source, b), bytes);
    }
  }
}

// Every step may come from any other, so the time axis stays whole.
std::optional<Tile> split_reverse_sequence(const Node& node, std::span<const Operand> inputs,
                                           const Region& output) {
  const auto [time, batch] = axes_of(node);
  Region sequences = output;
  sequences.begin[time] = 0;
  sequences.end[time] = inputs[0].type.shape[time];
  const Region lengths{{output.begin[batch]}, {output.end[batch]}};
  return Tile{{sequences, lengths}, sequences, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(reverse_sequence) = {.name = "ReverseSequence",
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .infer = infer_reverse_sequence,
                                  .reference = reference_reverse_sequence,
                                  .split = split_reverse_sequence,
                                  .linear = true,
                                  .linear_time = true,
                                  .gradient = permutation_gradient};

}  // namespace shoal::ops
