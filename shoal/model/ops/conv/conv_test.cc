#include "shoal/model/ops/conv/conv.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Node conv_node(Attributes attributes) {
  return {&conv, {ValueId{0}, ValueId{1}}, {ValueId{2}}, std::move(attributes), {}};
}

std::string refusal(const Shape& x, const Shape& w, Attributes attributes = {},
                    DType weights = DType::kF32) {
  const std::vector<Operand> inputs{{true, {DType::kF32, x}}, {true, {weights, w}}};
  auto types = conv.infer(conv_node(std::move(attributes)), inputs);
  return types.ok() ? "" : std::string(types.status().message());
}

TEST(Conv, RefusesChannelsThatDoNotMatch) {
  EXPECT_EQ(refusal({1, 4, 8, 8}, {6, 4, 3, 3}), "");
  EXPECT_NE(refusal({1, 4, 8, 8}, {6, 3, 3, 3}), "");
  EXPECT_EQ(refusal({1, 4, 8, 8}, {6, 2, 3, 3}, {{"group", int64_t{2}}}), "");
  EXPECT_NE(refusal({1, 4, 8, 8}, {5, 2, 3, 3}, {{"group", int64_t{2}}}), "");
  EXPECT_NE(refusal({1, 4, 8, 8}, {6, 4, 3, 3}, {{"group", int64_t{0}}}), "");
  EXPECT_NE(refusal({1, 4, 8, 8}, {6, 4, 3, 3}, {{"group", int64_t{-4}}}), "");
}

TEST(Conv, RefusesWeightsOfAnotherTypeOrRank) {
  EXPECT_NE(refusal({1, 4, 8}, {6, 4, 3}, {}, DType::kF64), "");
  EXPECT_NE(refusal({1, 4, 8}, {6, 4, 3, 3}), "");
  EXPECT_NE(refusal({1, 4, 2, 2, 2, 2}, {6, 4, 1, 1, 1, 1}), "");
}

TEST(Conv, RefusesABiasThatIsNotOnePerChannel) {
  const std::vector<Operand> inputs{{true, {DType::kF32, {1, 4, 8}}},
                                    {true, {DType::kF32, {6, 4, 3}}},
                                    {true, {DType::kF32, {4}}}};
  EXPECT_FALSE(conv.infer(conv_node({}), inputs).ok());
}

TEST(Conv, SplitsInsideAGroupAndAtGroupsButNotAcross) {
  const Node node = conv_node({{"group", int64_t{3}}});
  const Shape x{1, 6, 8}, w{12, 2, 1};
  auto split = [&](int64_t begin, int64_t end) {
    return split_convolution(node, x, w, Region{{0, begin, 0}, {1, end, 8}});
  };
  const auto inside = split(5, 7);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->x, (Region{{0, 2, 0}, {1, 4, 8}}));
  EXPECT_EQ(std::get<int64_t>(inside->attributes.at("group")), 1);
  const auto whole = split(4, 12);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->x, (Region{{0, 2, 0}, {1, 6, 8}}));
  EXPECT_EQ(std::get<int64_t>(whole->attributes.at("group")), 2);
  EXPECT_FALSE(split(2, 6));
}

TEST(Conv, CountsMultiplyAccumulates) {
  const Convolution convolution = convolution_of(
      conv_node({{"pads", std::vector<int64_t>{1, 1, 1, 1}}}), {1, 3, 224, 224}, {64, 3, 3, 3});
  EXPECT_EQ(count_macs(convolution), int64_t{224} * 224 * 64 * 3 * 9);
}

TEST(Conv, ComputesHalfPrecisionInFloat) {
  const std::vector<Tensor> inputs{Tensor::of<Half>({1, 1, 3}, {Half(1), Half(2), Half(3)}),
                                   Tensor::of<Half>({1, 1, 2}, {Half(0.5f), Half(-1)})};
  std::vector<Tensor> outputs{Tensor({DType::kF16, {1, 1, 2}})};
  conv.reference(conv_node({}), inputs, outputs);
  EXPECT_EQ(static_cast<float>(outputs[0].data<Half>()[0]), -1.5f);
  EXPECT_EQ(static_cast<float>(outputs[0].data<Half>()[1]), -2.0f);
}

TEST(ConvTranspose, FillsWhatTheKernelDoesNotReachWithBias) {
  const Tensor x = floats({1, 1, 1}, {2}), w = floats({1, 1, 1}, {3}), bias = floats({1}, {1});
  expect_output(evaluate(conv_transpose, {x, w, bias}, {{"output_shape", std::vector<int64_t>{3}}}),
                floats({1, 1, 3}, {7, 1, 1}));
}

TEST(ConvTranspose, CutsTheOddElementAsAutoPadSays) {
  const Tensor x = floats({1, 1, 2}, {1, 2}), w = floats({1, 1, 2}, {1, 10});  // 1, 12, 20
  const std::vector<int64_t> two{2};
  expect_output(evaluate(conv_transpose, {x, w}, {{"output_shape", two}}),
                floats({1, 1, 2}, {12, 20}));
  expect_output(evaluate(conv_transpose, {x, w},
                         {{"output_shape", two}, {"auto_pad", std::string("SAME_UPPER")}}),
                floats({1, 1, 2}, {1, 12}));
}

TEST(ConvTranspose, RefusesWhatDoesNotFitTogether) {
  const Tensor x({DType::kF32, {1, 4, 3}}), w({DType::kF32, {4, 2, 3}});
  using Ints = std::vector<int64_t>;
  expect_refused(evaluate(conv_transpose, {x, Tensor({DType::kF32, {2, 2, 3}})}), "groups");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"group", int64_t{3}}}), "groups");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"group", int64_t{1} << 62}}), "groups");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"pads", Ints{4, 4}}}), "out of range");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"strides", Ints{int64_t{1} << 40}}}),
                 "out of range");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"output_shape", Ints{5, 5}}}), "output_shape");
  expect_refused(evaluate(conv_transpose, {x, w}, {{"auto_pad", std::string("FULL")}}), "FULL");
  expect_refused(evaluate(conv_transpose, {x, w, Tensor({DType::kF32, {4}})}), "bias");
}

}  // namespace
}  // namespace shoal::ops
