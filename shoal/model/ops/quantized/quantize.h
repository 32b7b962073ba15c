// The arithmetic that quantised operators share: real = scale * (integer - zero point).
#pragma once

#include <cmath>
#include <span>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"

namespace shoal::ops {

using Bytes = Types<int8_t, uint8_t>;

// The integer for a real number that is already divided by the scale: rounded to nearest, halves to
// even, and saturated to the range of Q. NaN gives 0.
template <class Q>
Q quantize(float scaled, int32_t zero_point) {
  return saturate<Q>(static_cast<double>(std::nearbyint(scaled)) + zero_point);
}

// Refuses all but a scale, f32, and a zero point of type `dtype`, of one element each.
Status require_quantization(const Operand& scale, const Operand& zero_point, DType dtype);

float scale_of(const Tensor& scale);
int32_t zero_point_of(const Tensor& zero_point);

// The range that an activation such as Relu leaves of a quantised output: the attributes `low` and
// `high` of our own operators. Rounding is monotonic, so clamping after it gives the same as
// clamping before it.
struct Bounds {
  int64_t low = 0, high = 0;
  friend bool operator==(const Bounds&, const Bounds&) = default;
};
Bounds bounds_of_type(DType dtype);
Status require_bounds(const Node& node, DType dtype);
Bounds bounds_of(const Node& node, DType dtype);  // REQUIRES: `infer` has accepted the node
void apply(const Bounds& bounds, Tensor& bytes);  // in place

// Appends a Clip to these bounds, unless they are those of the type.
Result<ValueId> append(const Bounds& bounds, ValueId y, Graph& graph);

// Appends the nodes that turn 32-bit sums into real numbers, sums * scale, and those that quantise
// these.
Result<ValueId> append_scaled(ValueId sums, ValueId scale, Graph& graph);
Result<ValueId> append_requantize(ValueId sums, ValueId scale, ValueId zero_point, Graph& graph);

}  // namespace shoal::ops
