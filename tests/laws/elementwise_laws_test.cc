// The laws of `elementwise`, `linear_time` and `reads_types_only` in model/graph/operator.h. This
// file knows no operator by name.
#include <gtest/gtest.h>

#include <numeric>

#include "fixture.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/elementwise/fused_activation.h"

namespace shoal::laws {
namespace {

class ElementByElement : public Laws {};
class FunctionOfOneElement : public Laws {};
class Clamping : public Laws {};
class Finite : public Laws {};
class LinearTime : public Laws {};
class TypesOnly : public Laws {};

// Element i of the result is element from[i] of `tensor`.
Tensor picked(const Tensor& tensor, const Shape& shape, std::span<const int64_t> from) {
  Tensor result({tensor.dtype(), shape});
  const size_t size = size_of(tensor.dtype());
  for (size_t i = 0; i < from.size(); ++i) {
    std::ranges::copy(tensor.bytes().subspan(static_cast<size_t>(from[i]) * size, size),
                      result.bytes().begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  return result;
}

// Where the elements of a tensor that is stretched to `to` come from.
std::vector<int64_t> origins(const Shape& shape, const Shape& to) {
  std::vector<int64_t> from;
  const std::array strides{ops::strides_of(to), ops::broadcast_strides(shape, to)};
  ops::for_each_run(to, strides, [&](auto at, auto step, int64_t n) {
    for (int64_t k = 0; k < n; ++k) from.push_back(at[1] + k * step[1]);
  });
  return from;
}

TEST_P(ElementByElement, ElementsChangePlacesTogether) {
  Rng rng(11);
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const Tensor plain = evaluate(node, c.inputs)[0];
    std::vector<int64_t> places(static_cast<size_t>(plain.count()));
    std::iota(places.begin(), places.end(), 0);
    std::ranges::shuffle(places, rng);
    std::vector<Tensor> inputs = c.inputs;
    for (size_t i = 0; i < std::min(inputs.size(), op().elementwise.operands); ++i) {
      const std::vector<int64_t> from = origins(inputs[i].shape(), plain.shape());
      std::vector<int64_t> shuffled;
      for (int64_t place : places) shuffled.push_back(from[static_cast<size_t>(place)]);
      inputs[i] = picked(inputs[i], plain.shape(), shuffled);
    }
    expect_same(evaluate(node, inputs)[0], picked(plain, plain.shape(), places), 1e-6f);
  });
}

TEST_P(FunctionOfOneElement, IsWhatTheReferenceDoes) {
  int compared = 0;
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    if (!Floats::contains(c.inputs[0].dtype())) return;
    const auto function = ops::as_activation(node, operands_of(c.inputs));
    ASSERT_TRUE(function);
    Tensor got = c.inputs[0].clone();
    ops::apply(*function, got);
    expect_same(got, evaluate(node, c.inputs)[0], 1e-6f);
    ++compared;
  });
  EXPECT_GT(compared, 0) << "no case has floats";
}

// Its parameters are all that a node of the operator needs.
TEST_P(FunctionOfOneElement, MakesTheNodeThatItCameFrom) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    if (c.inputs[0].dtype() != DType::kF32) return;
    const auto function = ops::as_activation(node, operands_of(c.inputs));
    ASSERT_TRUE(function);
    Graph graph;
    const auto y = ops::append(*function, graph.add_input("x", c.inputs[0].type()), graph);
    ASSERT_TRUE(y.ok()) << y.status().message();
    graph.mark_output(*y);
    auto executable = make_reference_device()->compile(graph);
    ASSERT_TRUE(executable.ok());
    std::vector<Tensor> got(1);
    ASSERT_TRUE((*executable)->run(std::span(c.inputs).first(1), got, {}).ok());
    expect_same(got[0], evaluate(node, c.inputs)[0], 1e-5f);
  });
}

TEST_P(Clamping, IsTheMinimumOfAMaximum) {
  for_each_case([&](const Case& c) {
    if (!Floats::contains(c.inputs[0].dtype())) return;
    const auto function = ops::as_activation(node_of(op(), c), operands_of(c.inputs));
    ASSERT_TRUE(function);
    for (float x = -50; x <= 50; x += 0.25f) {
      ASSERT_EQ((*function)(x), std::min(std::max(x, function->alpha), function->beta)) << x;
    }
  });
}

TEST_P(Finite, ResultsOfFiniteElementsAre) {
  Rng rng(13);
  for_each_case([&](const Case& c) {
    std::vector<Tensor> inputs = c.inputs;
    if (inputs[0].dtype() != DType::kF32) return;
    for (size_t i = 0; i < std::min(inputs.size(), op().elementwise.operands); ++i) {
      for (float& x : inputs[i].data<float>()) {
        x = random_int(rng, 0, 3) == 0 ? 0 : static_cast<float>(random_int(rng, -1000, 1000));
      }
    }
    const Tensor y = evaluate(node_of(op(), c), inputs)[0];
    for (float x : y.data<float>()) ASSERT_TRUE(std::isfinite(x)) << x;
  });
}

TEST_P(LinearTime, CountsNoMoreProductsThanElements) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const std::vector<Operand> operands = operands_of(c.inputs);
    const auto types = op().infer(node, operands);
    ASSERT_TRUE(types.ok());
    int64_t elements = 0;
    for (const Tensor& t : c.inputs) elements += t.defined() ? t.count() : 0;
    for (const TensorType& type : *types) elements += type.shape.count();
    EXPECT_LE(op().macs == nullptr ? 0 : op().macs(node, operands, *types), elements);
    EXPECT_FALSE(op().random);
  });
}

TEST_P(TypesOnly, NeedsNoElements) {
  for_each_case([&](const Case& c) {
    const Node node = node_of(op(), c);
    const std::vector<Tensor> want = evaluate(node, c.inputs);
    std::vector<Tensor> inputs, got;
    for (const Tensor& t : c.inputs) inputs.push_back(Tensor::view(t.type(), nullptr, nullptr));
    for (const Tensor& t : want) got.emplace_back(t.type());
    op().reference(node, inputs, got);
    for (size_t i = 0; i < want.size(); ++i) expect_same(got[i], want[i], 0);
  });
}

SHOAL_LAW(ElementByElement, op.elementwise.operands > 0);
SHOAL_LAW(FunctionOfOneElement, op.elementwise.f32 != nullptr);
SHOAL_LAW(Clamping, op.elementwise.clamps);
SHOAL_LAW(Finite, op.elementwise.finite);
SHOAL_LAW(LinearTime, op.linear_time);
SHOAL_LAW(TypesOnly, op.reads_types_only);

}  // namespace
}  // namespace shoal::laws
