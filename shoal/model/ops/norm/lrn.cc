// LRN: y = x / (bias + alpha / size * s)^beta, where s sums the squares of `size` neighbouring
// channels at the same place, fewer at the first and last channels. For an even size the window has
// one more channel above than below. The gradient is in gradient_formulas.cc.
#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_lrn(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  if (inputs[0].type.shape.rank() < 2) return invalid("the input has no channels");
  if (node.integer("size", 0) < 1) return invalid("size is missing or less than 1");
  return std::vector{inputs[0].type};
}

template <class T>
void normalize(const Node& node, const Tensor& input, Tensor& output) {
  using C = Compute<T>;
  const Shape& shape = input.shape();
  const int64_t channels = shape[1], plane = shape.count(2, shape.rank());
  const int64_t size = node.integer("size", 1);
  // Clamped to the number of channels first: the attribute may be anything, and c + above must not
  // overflow.
  const int64_t below = std::min((size - 1) / 2, channels), above = std::min(size / 2, channels);
  const auto alpha = static_cast<C>(node.real("alpha", 1e-4f)) / static_cast<C>(size);
  const auto beta = static_cast<C>(node.real("beta", 0.75f));
  const auto bias = static_cast<C>(node.real("bias", 1));
  std::vector<C> sums(static_cast<size_t>(plane));
  for (int64_t image = 0; image < shape[0]; ++image) {
    const T* x = input.data<T>().data() + image * channels * plane;
    T* y = output.data<T>().data() + image * channels * plane;
    for (int64_t c = 0; c < channels; ++c) {
      std::ranges::fill(sums, C{0});
      const int64_t last = std::min(c + above, channels - 1);
      for (int64_t i = std::max<int64_t>(c - below, 0); i <= last; ++i) {
        for (int64_t p = 0; p < plane; ++p) {
          const auto value = static_cast<C>(x[i * plane + p]);
          sums[static_cast<size_t>(p)] += value * value;
        }
      }
      for (int64_t p = 0; p < plane; ++p) {
        const C divisor = std::pow(bias + alpha * sums[static_cast<size_t>(p)], beta);
        y[c * plane + p] = static_cast<T>(static_cast<C>(x[c * plane + p]) / divisor);
      }
    }
  }
}

void reference_lrn(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<Floats>(inputs[0].dtype(), [&]<class T>() { normalize<T>(node, inputs[0], outputs[0]); });
}

// Neighbouring channels are read, and no attribute can say that some channels are read but not
// written. So a tile has all channels.
std::optional<Tile> split_lrn(const Node& node, std::span<const Operand> inputs,
                              const Region& output) {
  Region box = output;
  box.begin[1] = 0;
  box.end[1] = inputs[0].type.shape[1];
  return Tile{{box}, box, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(lrn) = {.name = "LRN",
                     .infer = infer_lrn,
                     .reference = reference_lrn,
                     .split = split_lrn,
                     .gradient = lrn_gradient};

}  // namespace shoal::ops
