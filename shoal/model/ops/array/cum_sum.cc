// CumSum: y_i = x_0 + ... + x_i along an axis, which is an input; `exclusive` leaves out x_i itself
// and `reverse` starts from the other end. Integers wrap, f16 and bf16 accumulate in float.
// Gradient: a CumSum in the other direction. CumProd, of opset 26, multiplies instead.
#include <algorithm>
#include <functional>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_cum_sum(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  SHOAL_TRY(require_single(inputs[1]));
  SHOAL_ASSIGN(const std::vector<int64_t> axis, require_ints(inputs[1]));
  SHOAL_TRY(require_axis(axis[0], inputs[0].type.shape.rank()).status());
  return std::vector{inputs[0].type};
}

size_t axis_of(const Tensor& axis, const Shape& shape) {
  return axis_in(to_ints(axis)[0], shape.rank());
}

// One line. Each element is read before it is written: the output may lie in the input.
template <class Combine, class T>
void accumulate_line(const T* x, T* y, int64_t n, int64_t step, bool exclusive) {
  using Sum = Modular<Compute<T>>;
  Sum sum{std::is_same_v<Combine, std::plus<>> ? 0 : 1};
  for (int64_t k = 0; k < n; ++k, x += step, y += step) {
    const Sum before = sum;
    sum = Combine()(sum, static_cast<Sum>(static_cast<Compute<T>>(*x)));
    *y = static_cast<T>(static_cast<Compute<T>>(exclusive ? before : sum));
  }
}

template <class Combine>
void reference_cum_sum(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();  // [outer, n, inner]
  const size_t axis = axis_of(inputs[1], shape);
  const int64_t n = shape[axis];
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  const bool reverse = node.integer("reverse", 0) != 0;
  const bool exclusive = node.integer("exclusive", 0) != 0;
  if (n == 0) return;
  visit<Numbers>(inputs[0].dtype(), [&]<class T>() {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = (o * n + (reverse ? n - 1 : 0)) * inner + i;
        accumulate_line<Combine>(inputs[0].data<T>().data() + at, outputs[0].data<T>().data() + at,
                                 n, reverse ? -inner : inner, exclusive);
      }
    }
  });
}

// Every element depends on the whole line along the axis, so that axis is never cut. It must be
// known for that.
std::optional<Tile> split_cum_sum(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  if (inputs[1].value == nullptr) return std::nullopt;
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_of(*inputs[1].value, shape);
  Region line = output;
  line.begin[axis] = 0;
  line.end[axis] = shape[axis];
  return Tile{{line, Region::whole(inputs[1].type.shape)}, line, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(cum_prod) = {.name = "CumProd",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .value_inputs = 0b10,
                          .infer = infer_cum_sum,
                          .reference = reference_cum_sum<std::multiplies<>>,
                          .split = split_cum_sum,
                          .in_place = true,
                          .linear_time = true};

SHOAL_RECORD(cum_sum) = {.name = "CumSum",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .value_inputs = 0b10,
                         .infer = infer_cum_sum,
                         .reference = reference_cum_sum<std::plus<>>,
                         .split = split_cum_sum,
                         .linear = true,
                         .in_place = true,
                         .linear_time = true,
                         .gradient = cum_sum_gradient};

}  // namespace shoal::ops
