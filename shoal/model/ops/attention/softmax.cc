// Softmax and its relatives: functions of a whole line of elements along `axis`, by default the
// last (opset 13; the importer rewrites the older rule). Each operator here is a functor that fills
// one line of y from one of x, n elements `step` apart. It reads x[k] for the last time before it
// writes y[k], because the two may be the same memory. Gradients are in gradient_softmax.cc.
#include <algorithm>
#include <cmath>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", -1), shape.rank());
}

template <class F>
Result<std::vector<TensorType>> infer_softmax(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_axis(node.integer("axis", -1), inputs[0].type.shape.rank()).status());
  SHOAL_TRY(F::check(node));
  return std::vector{inputs[0].type};
}

template <class F>
void reference_softmax(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const F f(node);
  const Shape& shape = inputs[0].shape();  // [outer, n, inner]
  if (shape.count() == 0) return;
  const size_t axis = axis_of(node, shape);
  const int64_t n = shape[axis];
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    const T* x = inputs[0].data<T>().data();
    T* y = outputs[0].data<T>().data();
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = o * n * inner + i;
        f(x + at, y + at, n, inner);
      }
    }
  });
}

// Every element depends on the whole line, so the axis is not cut.
std::optional<Tile> split_softmax(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_of(node, shape);
  Region line = output;
  line.begin[axis] = 0;
  line.end[axis] = shape[axis];
  return Tile{{line}, line, node.attributes, {}};
}

// The largest element and sum_k exp(x_k - largest): exp cannot overflow then, and the sum of finite
// elements is at least 1.
template <class T>
struct ExpSum {
  Compute<T> top, sum;
};

template <class T>
ExpSum<T> exp_sum(const T* x, int64_t n, int64_t step) {
  Compute<T> top = x[0], sum = 0;
  for (int64_t k = 0; k < n; ++k) top = std::max<Compute<T>>(top, x[k * step]);
  for (int64_t k = 0; k < n; ++k) sum += std::exp(x[k * step] - top);
  return {top, sum};
}

// y_i = exp(x_i) / sum_k exp(x_k)
struct Softmax {
  explicit Softmax(const Node&) {}
  static Status check(const Node&) { return {}; }
  template <class T>
  void operator()(const T* x, T* y, int64_t n, int64_t step) const {
    const auto [top, sum] = exp_sum(x, n, step);
    for (int64_t k = 0; k < n; ++k) y[k * step] = std::exp(x[k * step] - top) / sum;
  }
};

// y_i = x_i - log(sum_k exp(x_k))
struct LogSoftmax {
  explicit LogSoftmax(const Node&) {}
  static Status check(const Node&) { return {}; }
  template <class T>
  void operator()(const T* x, T* y, int64_t n, int64_t step) const {
    const auto [top, sum] = exp_sum(x, n, step);
    const Compute<T> log_sum = std::log(sum);
    for (int64_t k = 0; k < n; ++k) y[k * step] = x[k * step] - top - log_sum;
  }
};

// 1 at the first of the largest elements, 0 elsewhere. Its gradient would be 0 everywhere, so it
// has none.
struct Hardmax {
  explicit Hardmax(const Node&) {}
  static Status check(const Node&) { return {}; }
  template <class T>
  void operator()(const T* x, T* y, int64_t n, int64_t step) const {
    int64_t best = 0;
    for (int64_t k = 1; k < n; ++k) {
      if (static_cast<Compute<T>>(x[k * step]) > static_cast<Compute<T>>(x[best * step])) best = k;
    }
    for (int64_t k = 0; k < n; ++k) y[k * step] = static_cast<T>(k == best ? 1.0f : 0.0f);
  }
};

// y_i = x_i / (sum_k |x_k|^p)^(1/p) for p = 1 or 2; a line of zeros stays as it is.
struct LpNormalization {
  explicit LpNormalization(const Node& node) : p(node.integer("p", 2)) {}
  static Status check(const Node& node) {
    const int64_t p = node.integer("p", 2);
    return p == 1 || p == 2 ? Status() : invalid("p is neither 1 nor 2");
  }
  template <class T>
  void operator()(const T* x, T* y, int64_t n, int64_t step) const {
    Compute<T> sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      const Compute<T> value = x[k * step];
      sum += p == 1 ? std::abs(value) : value * value;
    }
    const Compute<T> norm = p == 1 ? sum : std::sqrt(sum);
    const Compute<T> divisor = norm == 0 ? Compute<T>{1} : norm;
    for (int64_t k = 0; k < n; ++k) y[k * step] = x[k * step] / divisor;
  }
  int64_t p;
};

template <class F>
constexpr Operator along_axis(std::string_view name) {
  return {.name = name,
          .infer = infer_softmax<F>,
          .reference = reference_softmax<F>,
          .split = split_softmax,
          .in_place = true,
          .linear_time = true};
}

}  // namespace

SHOAL_RECORD(hardmax) = along_axis<Hardmax>("Hardmax");
SHOAL_RECORD(log_softmax) = differentiable(along_axis<LogSoftmax>("LogSoftmax"),
                                           log_softmax_gradient);
SHOAL_RECORD(lp_normalization) = differentiable(along_axis<LpNormalization>("LpNormalization"),
                                                lp_normalization_gradient);
SHOAL_RECORD(softmax) = differentiable(along_axis<Softmax>("Softmax"), softmax_gradient);

}  // namespace shoal::ops
