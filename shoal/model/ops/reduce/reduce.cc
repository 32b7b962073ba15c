// Reductions: the elements along some axes become one. Each operator here is an accumulator: `add`
// takes an element, `result` gives the answer for n of them. Floats accumulate in double, integers
// modulo 2^64. An empty reduction gives the identity: 0 for sums, 1 for products, and the lowest or
// highest value for Max and Min. Gradients are in gradient_reduce.cc.
#include "shoal/model/ops/reduce/reduce.h"

#include <cmath>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/extrema.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The reduced axes. ReduceSum has them as an input (opset 13), the others as an attribute. An empty
// list means all axes, or with noop_with_empty_axes none.
Result<std::vector<bool>> require_reduced(const Node& node, std::span<const Operand> inputs) {
  const size_t rank = inputs[0].type.shape.rank();
  std::vector<int64_t> listed = node.integers("axes");
  if (inputs.size() > 1 && inputs[1].given) {
    SHOAL_ASSIGN(listed, require_list(inputs[1]));
  }
  const bool all = listed.empty() && node.integer("noop_with_empty_axes", 0) == 0;
  SHOAL_ASSIGN(const std::vector<size_t> axes, require_axes(listed, rank));
  std::vector<bool> reduced(rank, all);
  for (size_t axis : axes) reduced[axis] = true;
  return reduced;
}

std::vector<bool> reduced_axes(const Node& node, std::span<const Operand> inputs) {
  auto reduced = require_reduced(node, inputs);
  SHOAL_CHECK(reduced.ok());
  return *std::move(reduced);
}

}  // namespace

Shape kept_shape(const Node& node, std::span<const Operand> inputs) {
  const std::vector<bool> reduced = reduced_axes(node, inputs);
  Shape shape = inputs[0].type.shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) shape[d] = 1;
  }
  return shape;
}

namespace {

bool keeps_dims(const Node& node) { return node.integer("keepdims", 1) != 0; }

template <class List>
Result<std::vector<TensorType>> infer_reduce(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_ASSIGN(const std::vector<bool> reduced, require_reduced(node, inputs));
  Shape shape;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      shape.push_back(inputs[0].type.shape[d]);
    } else if (keeps_dims(node)) {
      shape.push_back(1);
    }
  }
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// A choice of the input's axes: their lengths and strides.
struct Axes {
  Shape shape;
  Strides strides;
};

Axes select(const Shape& shape, const std::vector<bool>& reduced, bool which) {
  const Strides strides = strides_of(shape);
  Axes axes;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (reduced[d] != which) continue;
    axes.shape.push_back(shape[d]);
    axes.strides.push_back(strides[d]);
  }
  return axes;
}

template <class Accumulator, class T>
T reduce(const T* x, const Axes& axes) {
  Accumulator accumulator;
  for_each_run(axes.shape, std::array{axes.strides}, [&](auto at, auto step, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      accumulator.add(static_cast<Compute<T>>(x[at[0] + k * step[0]]));
    }
  });
  return convert<T>(accumulator.result(axes.shape.count()));
}

template <template <class> class Accumulator, class List>
void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::vector<bool> reduced = reduced_axes(node, operands_of(inputs));
  const Axes kept = select(inputs[0].shape(), reduced, false);
  const Axes gone = select(inputs[0].shape(), reduced, true);
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    T* y = outputs[0].data<T>().data();
    for_each_run(kept.shape, std::array{kept.strides}, [&](auto at, auto step, int64_t n) {
      for (int64_t k = 0; k < n; ++k) {
        *y++ = reduce<Accumulator<Compute<T>>>(x + at[0] + k * step[0], gone);
      }
    });
  });
}

// The reduced axes stay whole, the others are cut with the output.
std::optional<Tile> split_reduce(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  const std::vector<bool> reduced = reduced_axes(node, inputs);
  Region box = Region::whole(inputs[0].type.shape);
  size_t out = 0;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (!reduced[d]) {
      box.begin[d] = output.begin[out];
      box.end[d] = output.end[out];
    }
    if (!reduced[d] || keeps_dims(node)) ++out;
  }
  Tile tile{{box}, output, node.attributes, {}};
  if (inputs.size() > 1) tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  return tile;
}

// The type of sums. Unsigned, because signed overflow is undefined.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

template <class T>
Wide<T> magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(static_cast<double>(x));
    // The smallest int64 has a magnitude that only uint64 can hold.
  } else if constexpr (std::is_signed_v<T>) {
    const int64_t wide = x;
    return x < T{0} ? uint64_t{0} - static_cast<uint64_t>(wide) : static_cast<uint64_t>(wide);
  } else {
    return x;
  }
}

template <class T>
struct Sum {
  void add(T x) { sum += static_cast<Wide<T>>(x); }
  Wide<T> result(int64_t) const { return sum; }
  Wide<T> sum{0};
};

template <class T>
struct Mean : Sum<T> {
  auto result(int64_t n) const {
    if constexpr (std::is_floating_point_v<T>) {
      return this->sum / static_cast<double>(n);
    } else {
      // The sum modulo 2^64 is read as signed before it is divided: -6 / 3 is not 2^64 - 6 over 3.
      // An empty mean of integers is 0.
      using Quotient = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return n == 0 ? Quotient{0} : static_cast<Quotient>(this->sum) / static_cast<Quotient>(n);
    }
  }
};

template <class T>
struct Prod {
  void add(T x) { product *= static_cast<Wide<T>>(x); }
  Wide<T> result(int64_t) const { return product; }
  Wide<T> product{1};
};

template <class T>
struct Max {
  void add(T x) { top = larger(top, x); }
  T result(int64_t) const { return top; }
  T top = kBottom<T>;
};

template <class T>
struct Min {
  void add(T x) { bottom = smaller(bottom, x); }
  T result(int64_t) const { return bottom; }
  T bottom = kTop<T>;
};

template <class T>
struct L1 {
  void add(T x) { sum += magnitude(x); }
  Wide<T> result(int64_t) const { return sum; }
  Wide<T> sum{0};
};

template <class T>
struct SumSquare {
  void add(T x) { sum += static_cast<Wide<T>>(x) * static_cast<Wide<T>>(x); }
  Wide<T> result(int64_t) const { return sum; }
  Wide<T> sum{0};
};

template <class T>
struct L2 {
  void add(T x) { squares.add(static_cast<double>(x)); }
  double result(int64_t) const { return std::sqrt(squares.sum); }
  SumSquare<double> squares;
};

template <class T>
struct LogSum {
  void add(T x) { sum += static_cast<double>(x); }
  double result(int64_t) const { return std::log(sum); }
  double sum = 0;
};

// log(sum of e^x) = top + log(sum of e^(x - top)), where top is the largest element so far. No
// argument of exp is positive, so nothing overflows; the sum is rescaled when top grows.
template <class T>
struct LogSumExp {
  void add(T element) {
    const auto x = static_cast<double>(element);
    if (x == top) {  // infinities too, whose difference is not a number
      sum += 1;
    } else if (x > top) {
      sum = sum * std::exp(top - x) + 1;
      top = x;
    } else {
      sum += std::exp(x - top);
    }
  }
  double result(int64_t) const { return top + std::log(sum); }
  double top = kBottom<double>;
  double sum = 0;
};

template <template <class> class Accumulator, class List>
constexpr Operator reduction(std::string_view name, bool linear = false) {
  return {.name = name,
          .infer = infer_reduce<List>,
          .reference = reference<Accumulator, List>,
          .split = split_reduce,
          .linear = linear,
          .linear_time = true};
}

constexpr Operator with_axes_input(Operator op) {
  op.max_inputs = 2;
  op.value_inputs = 0b10;
  return op;
}

}  // namespace

SHOAL_RECORD(reduce_l1) = differentiable(reduction<L1, Numbers>("ReduceL1"), reduce_l1_gradient);
SHOAL_RECORD(reduce_l2) = differentiable(reduction<L2, Numbers>("ReduceL2"), reduce_l2_gradient);
SHOAL_RECORD(reduce_log_sum) = differentiable(reduction<LogSum, Numbers>("ReduceLogSum"),
                                              reduce_log_sum_gradient);
SHOAL_RECORD(reduce_log_sum_exp) = differentiable(reduction<LogSumExp, Numbers>("ReduceLogSumExp"),
                                                  reduce_log_sum_exp_gradient);
SHOAL_RECORD(reduce_max) = differentiable(reduction<Max, AllTypes>("ReduceMax"),
                                          reduce_extremum_gradient);
// Linear in exact arithmetic. The mean of integers is not, but plans only ever split sums of
// floats.
SHOAL_RECORD(reduce_mean) = differentiable(reduction<Mean, Numbers>("ReduceMean", true),
                                           reduce_mean_gradient);
SHOAL_RECORD(reduce_min) = differentiable(reduction<Min, AllTypes>("ReduceMin"),
                                          reduce_extremum_gradient);
SHOAL_RECORD(reduce_prod) = differentiable(reduction<Prod, Numbers>("ReduceProd"),
                                           reduce_prod_gradient);
SHOAL_RECORD(reduce_sum) = differentiable(with_axes_input(reduction<Sum, Numbers>("ReduceSum",
                                                                                  true)),
                                          reduce_sum_gradient);
SHOAL_RECORD(reduce_sum_square) = differentiable(reduction<SumSquare, Numbers>("ReduceSumSquare"),
                                                 reduce_sum_square_gradient);

}  // namespace shoal::ops
