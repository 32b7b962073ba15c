#include "shoal/train/step/graph/differentiate.h"

#include <gtest/gtest.h>

#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"

namespace shoal::train {
namespace {

std::vector<Tensor> run(const Graph& graph, std::vector<Tensor> inputs) {
  auto executable = make_reference_device()->compile(graph);
  std::vector<Tensor> outputs(graph.outputs().size());
  EXPECT_TRUE((*executable)->run(inputs, outputs, {}).ok());
  return outputs;
}

ValueId sum_of(Graph& graph, ValueId x) {
  return *graph.add(ops::reduce_sum, {x}, {{"keepdims", int64_t{0}}});
}

const Tensor kWeights = Tensor::of<float>({2}, {3, -2});

TEST(Differentiate, AddsUpOverAllReadersOfAWeight) {
  Graph graph;  // sum(w * w + w): 2 w + 1
  const ValueId w = graph.add_constant("w", kWeights);
  const ValueId square = *graph.add(ops::mul, {w, w});
  const ValueId loss = sum_of(graph, *graph.add(ops::add, {square, w}));
  graph.mark_output(loss);
  const auto both = differentiate(graph, loss, std::vector{w});
  ASSERT_TRUE(both.ok()) << both.status().message();
  const std::vector<Tensor> outputs = run(both->graph, {kWeights});
  EXPECT_EQ(outputs[0].data<float>()[0], 14);
  EXPECT_EQ(outputs[1].data<float>()[0], 7);
  EXPECT_EQ(outputs[1].data<float>()[1], -3);
}

TEST(Differentiate, SumsWhatWasStretched) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {3, 2}});
  const ValueId w = graph.add_constant("w", kWeights);
  const ValueId loss = sum_of(graph, *graph.add(ops::mul, {x, w}));
  const auto both = differentiate(graph, loss, std::vector{w});
  ASSERT_TRUE(both.ok()) << both.status().message();
  const auto outputs = run(both->graph, {Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), kWeights});
  EXPECT_EQ(outputs[0].data<float>()[0], 9);
  EXPECT_EQ(outputs[0].data<float>()[1], 12);
}

TEST(Differentiate, GivesZeroToWhatTheLossDoesNotSee) {
  Graph graph;
  const ValueId used = graph.add_constant("used", kWeights);
  const ValueId unused = graph.add_constant("unused", kWeights);
  const ValueId loss = sum_of(graph, used);
  const auto both = differentiate(graph, loss, std::vector{used, unused});
  ASSERT_TRUE(both.ok()) << both.status().message();
  const std::vector<Tensor> outputs = run(both->graph, {kWeights, kWeights});
  EXPECT_EQ(outputs[0].data<float>()[0], 1);
  EXPECT_EQ(outputs[1].data<float>()[0], 0);
}

TEST(Differentiate, NamesEveryOperatorWithoutGradient) {
  Graph graph;
  const ValueId w = graph.add_constant("w", Tensor::of<float>({2, 2}, {3, -2, 1, 4}));
  const ValueId hard = *graph.add(ops::hardmax, {w}, {}, "hard");
  const ValueId volume = *graph.add(ops::det, {hard}, {}, "volume");
  const ValueId loss = sum_of(graph, volume);
  const auto both = differentiate(graph, loss, std::vector{w});
  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.status().code(), Code::kUnsupported);
  EXPECT_NE(both.status().message().find("Hardmax (Hardmax hard)"), std::string::npos);
  EXPECT_NE(both.status().message().find("Det (Det volume)"), std::string::npos);
}

TEST(Differentiate, PassesByOperatorsThatNoParameterReaches) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2}});
  const ValueId w = graph.add_constant("w", kWeights);
  const ValueId hard = *graph.add(ops::hardmax, {x});
  const ValueId loss = sum_of(graph, *graph.add(ops::mul, {hard, w}));
  EXPECT_TRUE(differentiate(graph, loss, std::vector{w}).ok());
}

// d(sum of f(w)) / dw, where w is the first input of the node.
std::vector<float> slopes_of(const Operator& op, const std::vector<Tensor>& inputs) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(graph.add_constant("w", input));
  const ValueId loss = sum_of(graph, *graph.add(op, ids));
  const auto both = differentiate(graph, loss, std::vector{ids[0]});
  EXPECT_TRUE(both.ok()) << both.status().message();
  const Tensor dw = run(both->graph, {inputs[0]})[0];
  return {dw.data<float>().begin(), dw.data<float>().end()};
}

TEST(Differentiate, GivesZeroWhereANormHasNoSlope) {
  EXPECT_EQ(slopes_of(ops::reduce_l2, {Tensor::of<float>({2}, {0, 0})}),
            (std::vector<float>{0, 0}));
}

TEST(Differentiate, GivesZeroToWhatIsRaisedToZero) {
  const Tensor bases = Tensor::of<float>({3}, {0, 3, 3});
  const std::vector<float> want{0, 0, 6};
  EXPECT_EQ(slopes_of(ops::pow, {bases, Tensor::of<float>({3}, {0, 0, 2})}), want);
  EXPECT_EQ(slopes_of(ops::pow, {bases, Tensor::of<int64_t>({3}, {0, 0, 2})}), want);
}

TEST(Differentiate, RefusesALossOfSeveralNumbers) {
  Graph graph;
  const ValueId w = graph.add_constant("w", kWeights);
  EXPECT_EQ(differentiate(graph, w, std::vector{w}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::train
