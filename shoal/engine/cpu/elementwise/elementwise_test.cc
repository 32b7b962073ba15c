#include "shoal/engine/cpu/elementwise/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// What functions are tried on: both signs, tiny and large, past the ends of vectors.
Tensor spread(int64_t n) {
  Tensor x({DType::kF32, {n}});
  for (int64_t i = 0; i < n; ++i) {
    const auto t = static_cast<float>(2 * i - n + 1) / static_cast<float>(n);
    x.data<float>()[static_cast<size_t>(i)] = 12 * t * t * t;
  }
  return x;
}

TEST(Unary, Agrees) {
  for (const Operator* op : vector_functions()) {
    if (op == &ops::exp || op == &ops::sqrt) continue;  // where they are defined, below
    SCOPED_TRACE(op->name);
    for (const int64_t n : {1, 5, 33, 40'001}) {
      expect_agreement(*op, {spread(n)}, {}, "vector", 2e-6f);
    }
  }
  const Attributes by_tanh{{"approximate", std::string("tanh")}};
  expect_agreement(ops::gelu, {spread(1001)}, by_tanh, "vector", 2e-6f);
  expect_agreement(ops::exp, {spread(1001)}, {}, "vector", 2e-6f);
  std::mt19937 rng(1);
  Tensor positive = random_floats(rng, {77});
  for (float& x : positive.data<float>()) x *= x;
  expect_agreement(ops::sqrt, {positive}, {}, "vector", 2e-7f);
}

TEST(Unary, ReachesTheLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({6}, {-inf, -200, -90, 90, 200, inf});
  expect_agreement(ops::sigmoid, {x}, {}, "vector");
  expect_agreement(ops::tanh, {x}, {}, "vector");
  expect_agreement(ops::erf, {x}, {}, "vector");
  expect_agreement(ops::exp, {Tensor::of<float>({3}, {-inf, -200, 88})}, {}, "vector");
}

TEST(Binary, AgreesStretched) {
  std::mt19937 rng(1);
  const std::pair<Shape, Shape> shapes[] = {{{3, 4, 50}, {3, 4, 50}}, {{2, 30, 7, 9}, {30, 1, 1}},
                                            {{70, 33}, {33}},         {{70, 33}, {70, 1}},
                                            {{5, 1, 40}, {1, 6, 1}},  {{200'000}, {1}},
                                            {{1}, {200'000}},         {{}, {4, 5}}};
  for (const auto& [a, b] : shapes) {
    for (const Operator* op : {&ops::add, &ops::div, &ops::max, &ops::min, &ops::mul, &ops::sub}) {
      SCOPED_TRACE(op->name);
      Tensor divisor = random_floats(rng, b);
      for (float& x : divisor.data<float>()) x += x < 0 ? -0.5f : 0.5f;
      expect_agreement(*op, {random_floats(rng, a), divisor}, {}, {"vector", "chain"});
    }
  }
  expect_agreement(ops::prelu, {random_floats(rng, {2, 8, 9}), random_floats(rng, {8, 1})}, {},
                   "vector");
}

// Of x, and of what a convolution makes of it, with its activation.
TEST(Activations, KeepWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::mt19937 rng(1);
  Tensor image = random_floats(rng, {1, 16, 9, 11});
  for (size_t i = 0; i < image.data<float>().size(); i += 7) image.data<float>()[i] = nan;
  for (const Operator* op : {&ops::relu, &ops::sigmoid, &ops::tanh, &ops::erf, &ops::clip,
                             &ops::hard_sigmoid, &ops::hard_swish, &ops::gelu, &ops::softmax}) {
    SCOPED_TRACE(op->name);
    Graph graph;
    const ValueId x = graph.add_input("x", image.type());
    std::vector<ValueId> inputs{x};
    if (op == &ops::clip) {
      inputs.push_back(graph.add_constant("low", Tensor::of<float>({}, {-0.5f})));
      inputs.push_back(graph.add_constant("high", Tensor::of<float>({}, {0.5f})));
    }
    graph.mark_output(*graph.add(ops::is_nan, {*graph.add(*op, inputs)}));
    expect_agreement_of(graph, {image}, KernelNames{});
  }
  Graph graph;
  const ValueId x = graph.add_input("x", image.type());
  const ValueId w = graph.add_constant("w", random_floats(rng, {16, 16, 1, 1}));
  const ValueId y = *graph.add(ops::fused_conv, {x, w}, {{"activation", std::string("Relu")}});
  graph.mark_output(*graph.add(ops::is_nan, {y}));
  expect_agreement_of(graph, {image}, "direct");
}

TEST(Binary, LetsNoNumberWin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a =
      Tensor::of<float>({18}, {nan, 1, nan, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 1, nan});
  const Tensor b =
      Tensor::of<float>({18}, {1, nan, nan, 3, 2, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, nan, 1});
  for (const Operator* op : {&ops::max, &ops::min}) {
    Graph graph;
    const ValueId x = graph.add_input("x", a.type()), y = graph.add_input("y", b.type());
    graph.mark_output(*graph.add(ops::is_nan, {*graph.add(*op, {x, y})}));
    expect_agreement_of(graph, {a, b}, "vector");
  }
}

}  // namespace
}  // namespace shoal::cpu
