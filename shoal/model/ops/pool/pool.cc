// Pools: every output is a reduction of the inputs under its window, channel by channel.
// AveragePool: mean, LpPool: (sum |x|^p)^(1/p), MaxPool: maximum. Padding is ignored, except that
// count_include_pad counts it in the divisor. Gradients are in gradient_pool.cc.
#include "shoal/model/ops/pool/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_window(const Node& node, const TensorType& x) {
  SHOAL_ASSIGN(const Window window, require_window(node, x.shape));
  return std::vector{TensorType{x.dtype, window.output_shape(x.shape[0], x.shape[1])}};
}

// A tile reads a halo, as for Conv, and its own channels only.
std::optional<Tile> split_pool(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  ReceptiveField field = receptive_field(window_of(node, shape), shape, output);
  field.x.begin[1] = output.begin[1];
  field.x.end[1] = output.end[1];
  return Tile{{field.x}, output, attributes_in_tile(node, field), {}};
}

// A window that sees only padding has no elements; its average is 0.
struct Average {
  explicit Average(const Node& node) : count_padding(node.integer("count_include_pad", 0) != 0) {}

  static Status check(const Node&) { return {}; }

  template <class T>
  T operator()(const Window& window, const Position& o, const T* plane) const {
    double count = 1;  // with padding, no tensor bounds it
    for (size_t d = 0; d < o.size(); ++d) {
      const WindowAxis& axis = window.axes[d];
      count *=
          static_cast<double>(count_padding ? axis.padded_taps(o[d]) : axis.taps(o[d]).count());
    }
    Compute<T> sum = 0;
    for_each_tap(window, o, [&](int64_t at) { sum += static_cast<Compute<T>>(plane[at]); });
    return static_cast<T>(count == 0 ? 0 : sum / static_cast<Compute<T>>(count));
  }

  bool count_padding;
};

// (sum |x|^p)^(1/p)
struct Norm {
  explicit Norm(const Node& node) : p(node.integer("p", 2)) {}

  static Status check(const Node& node) {
    return node.integer("p", 2) >= 1 ? Status() : invalid("p is less than 1");
  }

  template <class T>
  T operator()(const Window& window, const Position& o, const T* plane) const {
    const auto power = static_cast<Compute<T>>(p);
    Compute<T> sum = 0;
    for_each_tap(window, o, [&](int64_t at) {
      sum += std::pow(std::abs(static_cast<Compute<T>>(plane[at])), power);
    });
    return static_cast<T>(std::pow(sum, 1 / power));
  }

  int64_t p;
};

template <class F>
Result<std::vector<TensorType>> infer_pool(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(F::check(node));
  return infer_window(node, inputs[0].type);
}

template <class F>
void reference_pool(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f(node);
  const Shape& shape = inputs[0].shape();
  const Window window = window_of(node, shape);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    T* y = outputs[0].data<T>().data();
    for_each_output(window, shape, [&](int64_t plane, int64_t at, const Position& o) {
      y[at] = f(window, o, x + plane);
    });
  });
}

using MaxTypes = Types<float, double, Half, BFloat16, int8_t, uint8_t>;

Result<std::vector<TensorType>> infer_max(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<MaxTypes>(inputs[0]));
  const int64_t order = node.integer("storage_order", 0);
  if (order != 0 && order != 1) return invalid("storage_order is neither 0 nor 1");
  SHOAL_ASSIGN(std::vector<TensorType> types, infer_window(node, inputs[0].type));
  if (node.outputs.size() > 1) types.push_back({DType::kI64, types[0].shape});
  return types;
}

// The offset of an element of an input plane if the plane is stored column by column (storage_order
// = 1).
int64_t column_major(const Window& window, int64_t at) {
  const auto& [depth, row, column] = window.axes;
  const int64_t w = at % column.input, h = at / column.input % row.input;
  const int64_t d = at / column.input / row.input;
  return (w * row.input + h) * depth.input + d;
}

// The largest element, the first of equal ones; NaN is larger than everything. A window that sees
// only padding gives the lowest number.
template <class T>
void take_max(const Window& window, const Tensor& input, Tensor& output, int64_t* indices,
              bool by_columns) {
  const T* x = input.data<T>().data();
  T* y = output.data<T>().data();
  for_each_output(window, input.shape(), [&](int64_t plane, int64_t out, const Position& o) {
    using C = Compute<T>;
    C best = std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                  : std::numeric_limits<C>::lowest();
    int64_t where = -1;
    for_each_tap(window, o, [&](int64_t at) {
      const auto value = static_cast<C>(x[plane + at]);
      if (where >= 0 && !is_larger(value, best)) return;
      best = value;
      where = at;
    });
    y[out] = static_cast<T>(best);
    if (indices == nullptr) return;
    const int64_t first = std::max<int64_t>(where, 0);  // padding has no index
    indices[out] = plane + (by_columns && where >= 0 ? column_major(window, first) : first);
  });
}

void reference_max(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Window window = window_of(node, inputs[0].shape());
  const bool by_columns = node.integer("storage_order", 0) == 1;
  int64_t* indices = outputs.size() > 1 ? outputs[1].data<int64_t>().data() : nullptr;
  visit<MaxTypes>(inputs[0].dtype(), [&]<class T>() {
    take_max<T>(window, inputs[0], outputs[0], indices, by_columns);
  });
}

// Indices count from the start of the whole input, which a tile does not know. So a node that gives
// them is not split.
std::optional<Tile> split_max(const Node& node, std::span<const Operand> inputs,
                              const Region& output) {
  if (node.outputs.size() > 1) return std::nullopt;
  return split_pool(node, inputs, output);
}

}  // namespace

SHOAL_RECORD(average_pool) = {.name = "AveragePool",
                              .infer = infer_pool<Average>,
                              .reference = reference_pool<Average>,
                              .split = split_pool,
                              .linear = true,
                              .gradient = average_pool_gradient};

SHOAL_RECORD(lp_pool) = {.name = "LpPool",
                         .infer = infer_pool<Norm>,
                         .reference = reference_pool<Norm>,
                         .split = split_pool,
                         .gradient = lp_pool_gradient};

SHOAL_RECORD(max_pool) = {.name = "MaxPool",
                          .max_outputs = 2,
                          .infer = infer_max,
                          .reference = reference_max,
                          .split = split_max,
                          .gradient = max_pool_gradient};

}  // namespace shoal::ops
