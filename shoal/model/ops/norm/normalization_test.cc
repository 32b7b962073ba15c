// BatchNormalization and its relatives: what they refuse, and where their definitions are subtle.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(BatchNormalization, TakesAVectorAsABatchOfOneChannel) {
  const Tensor one = floats({1}, {1}), zero = floats({1}, {0});
  const auto y =
      evaluate(batch_normalization, {floats({3}, {1, 2, 3}), floats({1}, {2}), one, zero, one},
               {{"epsilon", 0.0f}});
  expect_output(y, floats({3}, {3, 5, 7}));
}

TEST(BatchNormalization, MovesRunningStatisticsTowardsThePopulations) {
  const Tensor one = floats({1}, {1}), zero = floats({1}, {0});
  const auto y = evaluate(batch_normalization, {floats({2, 1}, {1, 3}), one, zero, zero, one},
                          {{"training_mode", int64_t{1}}, {"momentum", 0.5f}}, 3);
  ASSERT_TRUE(y.ok());
  expect_equal((*y)[1], floats({1}, {1}));  // half way from 0 to the mean, 2
  expect_equal((*y)[2], floats({1}, {1}));  // the variance is that of the population: 1
}

TEST(BatchNormalization, RefusesStatisticsOutsideOfTraining) {
  const Tensor p({DType::kF32, {2}});
  expect_refused(
      evaluate(batch_normalization, {Tensor({DType::kF32, {1, 2, 3}}), p, p, p, p}, {}, 3),
      "training_mode");
}

TEST(BatchNormalization, RefusesParametersThatAreNotOnePerChannel) {
  const Tensor p({DType::kF32, {3}});
  expect_refused(evaluate(batch_normalization, {Tensor({DType::kF32, {1, 2, 3}}), p, p, p, p}),
                 "should have [2]");
}

TEST(LayerNormalization, KeepsItsPrecisionAroundALargeMean) {
  const Tensor x = floats({1, 4}, {10000, 10001, 10002, 10003});
  const auto y =
      evaluate(layer_normalization, {x, floats({4}, {1, 1, 1, 1})}, {{"epsilon", 0.0f}}, 3);
  ASSERT_TRUE(y.ok());
  EXPECT_FLOAT_EQ((*y)[0].data<float>()[0], -1.5f / std::sqrt(1.25f));
  EXPECT_FLOAT_EQ((*y)[1].data<float>()[0], 10001.5f);
  EXPECT_FLOAT_EQ((*y)[2].data<float>()[0], 1 / std::sqrt(1.25f));
}

TEST(LayerNormalization, RefusesBadAxesScalesAndStashTypes) {
  const Tensor x({DType::kF32, {2, 3}}), scale({DType::kF32, {3}});
  expect_refused(evaluate(layer_normalization, {x, scale}, {{"axis", int64_t{2}}}), "axis 2");
  expect_refused(evaluate(layer_normalization, {x, Tensor({DType::kF32, {2}})}), "broadcast");
  expect_refused(evaluate(layer_normalization, {x, Tensor({DType::kF32, {1, 1, 3}})}), "broadcast");
  expect_refused(evaluate(layer_normalization, {x, scale}, {{"stash_type", int64_t{7}}}),
                 "stash_type 7");
}

TEST(GroupNormalization, TakesAScalePerChannelOrPerGroup) {
  const Tensor x = floats({1, 4, 1}, {-1, 1, -1, 1}), zeros({DType::kF32, {4}});
  const Attributes attributes{{"num_groups", int64_t{2}}, {"epsilon", 0.0f}};
  expect_output(evaluate(group_normalization, {x, floats({4}, {1, 2, 3, 4}), zeros}, attributes),
                floats({1, 4, 1}, {-1, 2, -3, 4}));
  expect_output(evaluate(group_normalization, {x, floats({2}, {1, 5}), Tensor({DType::kF32, {2}})},
                         attributes),
                floats({1, 4, 1}, {-1, 1, -5, 5}));
}

TEST(GroupNormalization, RefusesGroupsThatDoNotDivideTheChannels) {
  const Tensor x({DType::kF32, {1, 4, 2}}), p({DType::kF32, {4}});
  for (int64_t groups : {0, -2, 3, 8}) {
    expect_refused(evaluate(group_normalization, {x, p, p}, {{"num_groups", groups}}), "groups");
  }
}

TEST(InstanceNormalization, RefusesAScaleOfAnotherSize) {
  const Tensor x({DType::kF32, {1, 4, 2}}), p({DType::kF32, {2}});
  expect_refused(evaluate(instance_normalization, {x, p, p}), "should have [4]");
}

TEST(InstanceNormalization, DoesNotReadTheAttributesOfGroups) {
  const Tensor x = floats({1, 2, 2}, {-1, 1, -2, 2}), one = floats({2}, {1, 1});
  const auto y = evaluate(instance_normalization, {x, one, Tensor({DType::kF32, {2}})},
                          {{"num_groups", int64_t{7}}, {"epsilon", 0.0f}});
  expect_output(y, floats({1, 2, 2}, {-1, 1, -1, 1}));
}

TEST(MeanVarianceNormalization, RefusesAxesTheInputDoesNotHave) {
  expect_refused(evaluate(mean_variance_normalization, {Tensor({DType::kF32, {2, 3, 4}})}),
                 "axis 3");
}

TEST(Lrn, TakesTheOddChannelFromAbove) {
  const Tensor x = floats({1, 3, 1}, {1, 2, 4});
  const auto y =
      evaluate(lrn, {x}, {{"size", int64_t{2}}, {"alpha", 2.0f}, {"beta", 1.0f}, {"bias", 0.0f}});
  expect_output(y, floats({1, 3, 1}, {1.0f / 5, 2.0f / 20, 4.0f / 16}));
}

TEST(Lrn, SurvivesAnyAttribute) {
  const Tensor x = floats({1, 2, 1}, {1, 2});
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(evaluate(lrn, {x}, {{"size", huge}}).ok());
  expect_refused(evaluate(lrn, {x}, {{"size", int64_t{0}}}), "size");
  expect_refused(evaluate(lrn, {x}), "size");
}

TEST(LpNormalization, LeavesALineOfZerosAsItIs) {
  expect_output(evaluate(lp_normalization, {floats({2, 2}, {0, 0, 3, 4})}),
                floats({2, 2}, {0, 0, 0.6f, 0.8f}));
  expect_refused(evaluate(lp_normalization, {floats({2}, {0, 0})}, {{"p", int64_t{3}}}), "p is");
}

TEST(RMSNormalization, KeepsTheMean) {
  expect_output(evaluate(rms_normalization, {floats({2, 2}, {3, -3, 0, 0}), floats({2}, {2, 5})},
                         {{"epsilon", 7.0f}}),
                floats({2, 2}, {1.5f, -3.75f, 0, 0}));
  expect_refused(evaluate(rms_normalization, {floats({2}, {1, 2}), floats({3}, {1, 1, 1})}),
                 "broadcast");
}

}  // namespace
}  // namespace shoal::ops
