#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.data<T>().begin(), tensor.data<T>().end()};
}

TEST(AveragePool, CountsPaddingOnlyIfAsked) {
  const Tensor x = Tensor::of<float>({1, 1, 2}, {2, 4});
  const Attributes plain{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_EQ(elements<float>((*evaluate(average_pool, {x}, plain))[0]), (std::vector<float>{2, 3}));
  Attributes counting = plain;
  counting["count_include_pad"] = int64_t{1};
  EXPECT_EQ(elements<float>((*evaluate(average_pool, {x}, counting))[0]),
            (std::vector<float>{1, 3}));
}

TEST(AveragePool, DoesNotCountWhatLiesBeyondThePadding) {
  const Tensor x = Tensor::of<float>({1, 1, 3}, {2, 4, 6});
  const auto y = evaluate(average_pool, {x},
                          {{"kernel_shape", Ints{2}},
                           {"strides", Ints{2}},
                           {"ceil_mode", int64_t{1}},
                           {"count_include_pad", int64_t{1}}});
  EXPECT_EQ(elements<float>((*y)[0]), (std::vector<float>{3, 6}));
}

TEST(AveragePool, GivesZeroWhereItSeesPaddingOnly) {
  const Tensor x = Tensor::of<float>({1, 1, 1}, {5});
  const auto y = evaluate(average_pool, {x}, {{"kernel_shape", Ints{1}}, {"pads", Ints{1, 1}}});
  EXPECT_EQ(elements<float>((*y)[0]), (std::vector<float>{0, 5, 0}));
}

TEST(MaxPool, IndicesCountThroughTheWholeInputAndTheFirstOfEqualsWins) {
  const Tensor x = Tensor::of<float>({1, 2, 2, 2}, {1, 3, 3, 0, -1, -2, -3, -1});
  const auto y = evaluate(max_pool, {x}, {{"kernel_shape", Ints{2, 2}}}, 2);
  EXPECT_EQ(elements<int64_t>((*y)[1]), (Ints{1, 4}));
  const auto by_columns =
      evaluate(max_pool, {x}, {{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{1}}}, 2);
  EXPECT_EQ(elements<int64_t>((*by_columns)[1]), (Ints{2, 4}));
}

TEST(MaxPool, KeepsANaNAndFindsMinusInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::of<float>({2, 1, 3}, {1, nan, 2, -infinity, -infinity, -infinity});
  const auto y = evaluate(max_pool, {x}, {{"kernel_shape", Ints{3}}}, 2);
  EXPECT_TRUE(std::isnan((*y)[0].data<float>()[0]));
  EXPECT_EQ((*y)[0].data<float>()[1], -infinity);
  EXPECT_EQ(elements<int64_t>((*y)[1]), (Ints{1, 3}));
}

TEST(MaxPool, TakesTheFirstOfSeveralNaNs) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({1, 1, 4}, {1, nan, 2, nan});
  const auto y = evaluate(max_pool, {x}, {{"kernel_shape", Ints{4}}}, 2);
  EXPECT_EQ(elements<int64_t>((*y)[1]), (Ints{1}));
  const auto dx = evaluate(max_pool_backward, {x, Tensor::of<float>({1, 1, 1}, {5})},
                           {{"kernel_shape", Ints{4}}});
  EXPECT_EQ(elements<float>((*dx)[0]), (std::vector<float>{0, 5, 0, 0}));
}

// The nodes of the expansion, one after the other.
std::vector<float> run_expansion(const Operator& op, const std::vector<Tensor>& inputs,
                                 const Attributes& attributes) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(graph.add_constant("x", input));
  const auto outputs = op.expand(Node{&op, ids, {}, attributes, {}}, ids, graph);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  std::vector<Tensor> values(graph.value_count());
  const auto at = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = graph[static_cast<ValueId>(i)].constant.value_or(Tensor());
  }
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> in, out;
    for (ValueId id : node.inputs) in.push_back(id == kNoValue ? Tensor() : at(id));
    for (ValueId id : node.outputs) out.push_back(at(id) = Tensor(graph[id].type));
    node.op->reference(node, in, out);
  }
  return elements<float>(at(outputs->front()));
}

// Windows: padding alone, -infinity alone, a NaN, numbers, padding alone.
TEST(MaxPoolBackward, GivesToWhateverTheWindowTook) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Attributes attributes{
      {"kernel_shape", Ints{2}}, {"strides", Ints{2}}, {"pads", Ints{2, 2}}};
  const std::vector<Tensor> inputs{
      Tensor::of<float>({1, 1, 6}, {-infinity, -infinity, 7, nan, 1, 2}),
      Tensor::of<float>({1, 1, 5}, {1, 2, 3, 4, 5})};
  const std::vector<float> want{2, 0, 0, 3, 0, 4};
  EXPECT_EQ(elements<float>((*evaluate(max_pool_backward, inputs, attributes))[0]), want);
  EXPECT_EQ(run_expansion(max_pool_backward, inputs, attributes), want);
}

TEST(MaxPool, TakesBytesAndRefusesOtherIntegers) {
  const Attributes attributes{{"kernel_shape", Ints{2}}};
  const auto y = evaluate(max_pool, {Tensor::of<int8_t>({1, 1, 3}, {-7, -5, -9})}, attributes);
  EXPECT_EQ(elements<int8_t>((*y)[0]), (std::vector<int8_t>{-5, -5}));
  EXPECT_FALSE(evaluate(max_pool, {Tensor({DType::kI32, {1, 1, 3}})}, attributes).ok());
}

TEST(MaxPool, DoesNotSplitWhereIndicesAreWanted) {
  const Node node{
      &max_pool, {ValueId{0}}, {ValueId{1}, ValueId{2}}, {{"kernel_shape", Ints{2}}}, {}};
  const std::vector<Operand> inputs{{true, {DType::kF32, {1, 1, 8}}}};
  EXPECT_FALSE(max_pool.split(node, inputs, Region{{0, 0, 0}, {1, 1, 4}}));
}

TEST(LpPool, RefusesAPowerBelowOne) {
  const Tensor x({DType::kF32, {1, 1, 4}});
  EXPECT_FALSE(evaluate(lp_pool, {x}, {{"kernel_shape", Ints{2}}, {"p", int64_t{0}}}).ok());
  EXPECT_FALSE(evaluate(global_lp_pool, {x}, {{"p", int64_t{-1}}}).ok());
}

TEST(GlobalPools, RefuseAnInputWithoutChannels) {
  EXPECT_FALSE(evaluate(global_average_pool, {Tensor({DType::kF32, {4}})}, {}).ok());
}

TEST(MaxUnpool, DropsIndicesOutsideOfTheOutput) {
  const Tensor x = Tensor::of<float>({1, 1, 3}, {1, 2, 3});
  const Tensor indices = Tensor::of<int64_t>({1, 1, 3}, {1, -4, 1'000'000'000'000});
  const auto y = evaluate(max_unpool, {x, indices}, {{"kernel_shape", Ints{1}}});
  EXPECT_EQ(elements<float>((*y)[0]), (std::vector<float>{0, 1, 0}));
}

TEST(MaxUnpool, KeepsPlacesInALargerOutput) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 1}, {7});
  const Tensor indices = Tensor::of<int64_t>({1, 1, 1, 1}, {3});
  const Tensor shape = Tensor::of<int64_t>({4}, {1, 1, 3, 3});
  const auto y = evaluate(max_unpool, {x, indices, shape}, {{"kernel_shape", Ints{2, 2}}});
  EXPECT_EQ(elements<float>((*y)[0]), (std::vector<float>{0, 0, 0, 0, 7, 0, 0, 0, 0}));
}

TEST(MaxUnpool, RefusesAnOutputShapeOfOtherChannels) {
  const Tensor x({DType::kF32, {1, 1, 2}}), indices({DType::kI64, {1, 1, 2}});
  const Attributes attributes{{"kernel_shape", Ints{2}}};
  EXPECT_FALSE(
      evaluate(max_unpool, {x, indices, Tensor::of<int64_t>({3}, {1, 2, 4})}, attributes).ok());
  EXPECT_FALSE(evaluate(max_unpool, {x, indices, Tensor::of<int64_t>({1}, {4})}, attributes).ok());
}

}  // namespace
}  // namespace shoal::ops
