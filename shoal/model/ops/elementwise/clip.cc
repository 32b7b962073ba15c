// Clip: y_i = min(max(x_i, low), high). The bounds are inputs, known only at run time; a bound that
// is not given does not apply. Where low > high the result is high, as ONNX specifies. The
// gradient, in gradient_nary.cc, flows to x between the bounds and to a bound where it applies.
#include <algorithm>
#include <limits>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_clip(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  // Since opset 11 the bounds are scalars. A tensor of one element and any rank is accepted too.
  for (const Operand& bound : inputs.subspan(1)) {
    if (bound.given) SHOAL_TRY(require_single(bound));
  }
  return std::vector{inputs[0].type};
}

// std::min and std::max give their first argument where a NaN is compared, so x comes first.
template <class T>
T clamp(T x, T low, T high) {
  return std::min(std::max(x, low), high);
}

template <class T>
Compute<T> bound_or(std::span<const Tensor> inputs, size_t i, Compute<T> fallback) {
  if (i >= inputs.size() || !inputs[i].defined()) return fallback;
  return static_cast<Compute<T>>(inputs[i].data<T>()[0]);
}

void reference_clip(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const C low = bound_or<T>(inputs, 1, kBottom<C>), high = bound_or<T>(inputs, 2, kTop<C>);
    std::ranges::transform(inputs[0].data<T>(), outputs[0].data<T>().begin(), [=](T x) {
      return static_cast<T>(clamp(static_cast<C>(x), low, high));
    });
  });
}

// Element-wise in x; each tile reads both bounds whole.
std::optional<Tile> split_clip(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  Tile tile{{output}, output, node.attributes, {}};
  for (const Operand& bound : inputs.subspan(1)) {
    tile.inputs.push_back(Region::whole(bound.type.shape));
  }
  return tile;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

SHOAL_RECORD(clip) = {.name = "Clip",
                      .max_inputs = 3,
                      .infer = infer_clip,
                      .reference = reference_clip,
                      .split = split_clip,
                      .elementwise = {.operands = 1,
                                      .finite = true,
                                      .f32 = clamp<float>,
                                      .f64 = clamp<double>,
                                      .parameters = {{{.value = -kInfinity, .input = 1},
                                                      {.value = kInfinity, .input = 2}}},
                                      .clamps = true},
                      .in_place = true,
                      .linear_time = true,
                      .gradient = clip_gradient};

}  // namespace shoal::ops
