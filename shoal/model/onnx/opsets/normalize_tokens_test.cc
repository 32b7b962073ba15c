// Operators of language models as combinations of others.
#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/onnx/bind/node_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

// cos = 0 and sin = 1: (a, b) becomes (-b, a).
Case quarter_turn(Tensor x, int64_t half) {
  const Tensor cos({DType::kF32, {1, 1, half}});
  Tensor sin({DType::kF32, {1, 1, half}});
  std::ranges::fill(sin.data<float>(), 1);
  return {"RotaryEmbedding", 23, {std::move(x), cos, sin}};
}

TEST(RotaryEmbedding, TurnsHalvesOrNeighbours) {
  Case one = quarter_turn(count({1, 1, 1, 4}, 1), 2);
  EXPECT_EQ(answer(one), "1x1x1x4: -3 -4 1 2");
  one.attributes = {integer("interleaved", 1)};
  EXPECT_EQ(answer(one), "1x1x1x4: -2 1 -4 3");
}

TEST(RotaryEmbedding, LeavesTheRestOfAHead) {
  Case one = quarter_turn(count({1, 1, 1, 4}, 1), 1);
  one.attributes = {integer("rotary_embedding_dim", 2)};
  EXPECT_EQ(answer(one), "1x1x1x4: -2 1 3 4");
  one.attributes = {integer("rotary_embedding_dim", 3)};
  EXPECT_EQ(answer(one), "RotaryEmbedding y0: rotates an even part of a head");
  one.attributes = {};
  EXPECT_EQ(answer(one),
            "RotaryEmbedding y0: the cosines and sines do not fit the part that is rotated");
}

TEST(RotaryEmbedding, TakesPackedHeadsAndPositions) {
  Case one = quarter_turn(count({1, 1, 4}, 1), 1);
  one.inputs[1] = Tensor::of<float>({2, 1}, {9, 0});
  one.inputs[2] = Tensor::of<float>({2, 1}, {9, 1});
  one.inputs.push_back(Tensor::of<int64_t>({1, 1}, {1}));
  one.attributes = {integer("num_heads", 2)};
  EXPECT_EQ(answer(one), "1x1x4: -2 1 -4 3");
}

TEST(TensorScatter, WritesFromEveryImagesOwnPlace) {
  Case one{"TensorScatter", 24, {count({2, 3, 1}), count({2, 2, 1}, 10), i64({1, 0})}};
  EXPECT_EQ(answer(one), "2x3x1: 0 10 11 12 13 5");
  one.inputs[2] = i64({2, 0});
  one.attributes = {text("mode", "circular")};
  EXPECT_EQ(answer(one), "2x3x1: 11 1 10 12 13 5");
  one.attributes = {integer("axis", 0)};
  EXPECT_EQ(answer(one), "TensorScatter y0: the update does not fit the cache");
}

TEST(CausalConvWithState, ReadsThePastAndKeepsWhatTheNextCallNeeds) {
  const Tensor w = Tensor::of<float>({1, 1, 2}, {10, 1});
  Case one{"CausalConvWithState", 27, {count({1, 1, 3}, 1), w}};
  one.outputs = 2;
  EXPECT_EQ(answer(one), "1x1x3: 1 12 23");
  EXPECT_EQ(answer(one, 1), "1x1x1: 3");
  one.inputs.resize(4);
  one.inputs[3] = Tensor::of<float>({1, 1, 1}, {5});
  EXPECT_EQ(answer(one), "1x1x3: 51 12 23");
  one.inputs[3] = Tensor({DType::kF32, {1, 1, 2}});
  EXPECT_EQ(answer(one), "CausalConvWithState y0: past_state has another length");
}

TEST(RMSNormalization, GivesTheTypeOfItsScale) {
  Tensor scale({DType::kF64, {2}});
  std::ranges::fill(scale.data<double>(), 2);
  const auto y = run({"RMSNormalization", 23, {Tensor::of<float>({2}, {3, 3}), scale}});
  ASSERT_TRUE(y.ok()) << y.status().message();
  EXPECT_EQ((*y)[0].dtype(), DType::kF64);
}

TEST(Dft, InvertsOneSidedSpectra) {
  // Of 1, 2, 3, 4: 10, -2 + 2i, -2.
  const Tensor x = Tensor::of<float>({1, 3, 2}, {10, 0, -2, 2, -2, 0});
  Case one{"DFT", 20, {x, Tensor(), Tensor::of<int64_t>({}, {1})}};
  one.attributes = {integer("inverse", 1), integer("onesided", 1)};
  EXPECT_EQ(answer(one), "1x4x1: 1 2 3 4");
  one.inputs[1] = Tensor::of<int64_t>({}, {0});
  EXPECT_EQ(answer(one), "DFT y0: dft_length is out of range");
}

}  // namespace
}  // namespace shoal::onnx
