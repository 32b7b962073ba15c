// Attention of opsets 23 to 25: what our own operator does not say.
#include <gtest/gtest.h>

#include <limits>

#include "shoal/model/onnx/bind/node_testing.h"

namespace shoal::onnx {
namespace {

using namespace testing;

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Queries of 0: every key that is seen has the same weight, so y is the mean of the values seen.
Case mean_of_values(int64_t queries, std::vector<float> values) {
  const auto keys = static_cast<int64_t>(values.size());
  return {"Attention",
          25,
          {Tensor({DType::kF32, {1, 1, queries, 1}}), Tensor({DType::kF32, {1, 1, keys, 1}}),
           Tensor::of<float>({1, 1, keys, 1}, values)}};
}

TEST(NormalizeAttention, SeesAllKeys) {
  EXPECT_EQ(answer(mean_of_values(2, {1, 3, 8})), "1x1x2x1: 4 4");
}

TEST(NormalizeAttention, SeesNoLaterKeysIfItIsCausal) {
  Case one = mean_of_values(3, {1, 3, 8});
  one.attributes = {integer("is_causal", 1)};
  EXPECT_EQ(answer(one), "1x1x3x1: 1 2 4");
}

TEST(NormalizeAttention, SeesAWindow) {
  Case one = mean_of_values(3, {1, 3, 8});
  one.attributes = {integer("left_window_size", 0), integer("right_window_size", 1)};
  EXPECT_EQ(answer(one), "1x1x3x1: 2 5.5 8");
  one.attributes = {integer("left_window_size", -2)};
  EXPECT_EQ(answer(one), "Attention y0: a window is -1 or more");
}

TEST(NormalizeAttention, PutsQueriesBehindThePast) {
  Case one = mean_of_values(1, {8});
  one.attributes = {integer("is_causal", 1)};
  one.inputs.resize(6);
  one.inputs[4] = Tensor({DType::kF32, {1, 1, 2, 1}});
  one.inputs[5] = Tensor::of<float>({1, 1, 2, 1}, {1, 3});
  one.outputs = 3;
  EXPECT_EQ(answer(one), "1x1x1x1: 4");
  EXPECT_EQ(answer(one, 2), "1x1x3x1: 1 3 8");
}

TEST(NormalizeAttention, LeavesOutPadding) {
  Case one = mean_of_values(1, {1, 3, 8});
  one.inputs.resize(7);
  one.inputs[6] = i64({2});
  EXPECT_EQ(answer(one), "1x1x1x1: 2");
  one.inputs[6] = i64({2, 2});
  EXPECT_EQ(answer(one), "Attention y0: nonpad_kv_seqlen is i64 and has one element per image");
}

TEST(NormalizeAttention, MasksByTruthOrByNumbersAndPadsAShortMask) {
  Case one = mean_of_values(1, {1, 3, 8});
  one.inputs.push_back(Tensor::of<bool>({1, 3}, {true, false, true}));
  EXPECT_EQ(answer(one), "1x1x1x1: 4.5");
  one.inputs[3] = Tensor::of<float>({1, 3}, {kNever, 0, kNever});
  EXPECT_EQ(answer(one), "1x1x1x1: 3");
  one.inputs[3] = Tensor::of<float>({1, 2}, {0, 0});
  EXPECT_EQ(answer(one), "1x1x1x1: 2");
}

TEST(NormalizeAttention, GivesZeroWhereNothingIsSeen) {
  Case one = mean_of_values(1, {1, 3});
  one.inputs.push_back(Tensor::of<bool>({1, 2}, {false, false}));
  EXPECT_EQ(answer(one), "1x1x1x1: 0");
}

TEST(NormalizeAttention, SharesKeysAmongHeadsInOrder) {
  Case one = mean_of_values(1, {1, 3});
  one.inputs[0] = Tensor({DType::kF32, {1, 4, 1, 1}});
  one.inputs[1] = Tensor({DType::kF32, {1, 2, 1, 1}});
  one.inputs[2] = Tensor::of<float>({1, 2, 1, 1}, {1, 3});
  EXPECT_EQ(answer(one), "1x4x1x1: 1 1 3 3");
  one.inputs[0] = Tensor({DType::kF32, {1, 3, 1, 1}});
  EXPECT_EQ(answer(one), "Attention y0: the heads of the keys do not divide those of the queries");
}

TEST(NormalizeAttention, UnpacksHeads) {
  const Tensor q({DType::kF32, {1, 1, 2}});
  Case one{"Attention", 23, {q, q, Tensor::of<float>({1, 1, 2}, {5, 7})}};
  one.attributes = {integer("q_num_heads", 2), integer("kv_num_heads", 2)};
  EXPECT_EQ(answer(one), "1x1x2: 5 7");
  one.attributes.clear();
  EXPECT_EQ(answer(one), "Attention y0: the heads do not divide the last axis");
}

TEST(NormalizeAttention, GivesScoresAtEveryStage) {
  Case one{"Attention",
           23,
           {Tensor::of<float>({1, 1, 1, 1}, {2}), Tensor::of<float>({1, 1, 1, 1}, {3}),
            Tensor::of<float>({1, 1, 1, 1}, {7}), Tensor::of<float>({1, 1}, {0.5f})},
           {integer("qk_matmul_output_mode", 0)},
           4};
  EXPECT_EQ(answer(one, 3), "1x1x1x1: 6");
  one.attributes = {integer("qk_matmul_output_mode", 2)};
  EXPECT_EQ(answer(one, 3), "1x1x1x1: 6.5");
  one.attributes = {integer("qk_matmul_output_mode", 1), real("softcap", 3), real("scale", 1000)};
  EXPECT_EQ(answer(one, 3), "1x1x1x1: 3");
  one.attributes = {integer("qk_matmul_output_mode", 3)};
  EXPECT_EQ(answer(one, 3), "1x1x1x1: 1");
}

}  // namespace
}  // namespace shoal::onnx
