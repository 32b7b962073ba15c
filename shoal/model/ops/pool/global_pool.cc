// Global pools: one number per channel, from all of its elements. GlobalAveragePool: mean(x),
// GlobalMaxPool: max(x), GlobalLpPool: (sum |x|^p)^(1/p). Gradients are in gradient_pool.cc.
#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

template <class F>
Result<std::vector<TensorType>> infer_global_pool(const Node& node,
                                                  std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(F::check(node));
  TensorType type = inputs[0].type;
  if (type.shape.rank() < 2) return invalid("the input has no channels");
  std::fill(type.shape.begin() + 2, type.shape.end(), 1);
  return std::vector{type};
}

template <class F>
void reference_global_pool(const Node& node, std::span<const Tensor> inputs,
                           std::span<Tensor> outputs) {
  const F f(node);
  const Shape& shape = inputs[0].shape();
  const auto plane = static_cast<size_t>(shape.count(2, shape.rank()));
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    std::span<const T> x = inputs[0].data<T>();
    for (T& y : outputs[0].data<T>()) {
      y = static_cast<T>(static_cast<Compute<T>>(f(x.first(plane))));
      x = x.subspan(plane);
    }
  });
}

// Batch and channels are cut; a plane is one output and stays whole.
std::optional<Tile> split_global_pool(const Node& node, std::span<const Operand> inputs,
                                      const Region& output) {
  Region x = Region::whole(inputs[0].type.shape);
  for (size_t d = 0; d < 2; ++d) {
    x.begin[d] = output.begin[d];
    x.end[d] = output.end[d];
  }
  return Tile{{x}, output, node.attributes, {}};
}

// Sums are kept in double: a plane may have many elements, and a float sum of ones stops growing at
// 2^24.
struct Average {
  explicit Average(const Node&) {}
  static Status check(const Node&) { return {}; }
  template <class T>
  double operator()(std::span<const T> plane) const {
    double sum = 0;
    for (T x : plane) sum += static_cast<double>(x);
    return sum / static_cast<double>(plane.size());
  }
};

struct Max {
  explicit Max(const Node&) {}
  static Status check(const Node&) { return {}; }
  template <class T>
  Compute<T> operator()(std::span<const T> plane) const {
    auto best = -std::numeric_limits<Compute<T>>::infinity();
    for (T element : plane) {
      const auto x = static_cast<Compute<T>>(element);
      if (x > best || x != x) best = x;  // a NaN stays
    }
    return best;
  }
};

// p may be any positive integer. The powers are computed in double, where they overflow late.
struct Norm {
  explicit Norm(const Node& node) : p(static_cast<double>(node.integer("p", 2))) {}
  static Status check(const Node& node) {
    return node.integer("p", 2) >= 1 ? Status() : invalid("p is less than 1");
  }
  template <class T>
  double operator()(std::span<const T> plane) const {
    double sum = 0;
    for (T x : plane) sum += std::pow(std::abs(static_cast<double>(x)), p);
    return std::pow(sum, 1 / p);
  }
  double p;
};

template <class F>
constexpr Operator global_pool(std::string_view name, bool linear) {
  return {.name = name,
          .infer = infer_global_pool<F>,
          .reference = reference_global_pool<F>,
          .split = split_global_pool,
          .linear = linear};
}

}  // namespace

SHOAL_RECORD(global_average_pool) = differentiable(global_pool<Average>("GlobalAveragePool", true),
                                                   global_average_pool_gradient);
SHOAL_RECORD(global_lp_pool) = differentiable(global_pool<Norm>("GlobalLpPool", false),
                                              global_lp_pool_gradient);
SHOAL_RECORD(global_max_pool) = differentiable(global_pool<Max>("GlobalMaxPool", false),
                                               global_max_pool_gradient);

}  // namespace shoal::ops
