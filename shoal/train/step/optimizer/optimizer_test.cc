#include "shoal/train/step/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace shoal::train {
namespace {

using Rule = OptimizerOptions::Rule;

// One weight of 1 after two steps with gradients 2 and 4; the rate is 1/2, the momentum 1/4, where
// there is one, and the decay 1.
float after_two_steps(const OptimizerOptions& options, const Shape& shape = {1, 1}) {
  Optimizer optimizer(options, {"w"});
  std::vector<Tensor> weights{Tensor::of<float>(shape, {1})};
  EXPECT_TRUE(optimizer.update(weights, std::vector{Tensor::of<float>(shape, {2})}).ok());
  EXPECT_TRUE(optimizer.update(weights, std::vector{Tensor::of<float>(shape, {4})}).ok());
  return weights[0].data<float>()[0];
}

TEST(Optimizer, FollowsTheGradient) { EXPECT_EQ(after_two_steps({.rate = 0.5f}), 1 - 1 - 2); }

TEST(Optimizer, KeepsMomentum) {
  // v: 2, then 0.25 * 2 + 4
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .momentum = 0.25f}), 1 - 1 - 2.25f);
}

TEST(Optimizer, LooksAheadWithNesterov) {
  // 2 + 0.25 * 2, then 4 + 0.25 * 4.5
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .momentum = 0.25f, .nesterov = true}),
            1 - 1.25f - 2.5625f);
}

TEST(Optimizer, PullsWeightsToZeroButNotBiases) {
  // gradients 2 + 1, which brings the weight to -0.5, then 4 - 0.5
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .weight_decay = 1}), 1 - 1.5f - 1.75f);
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .weight_decay = 1}, {1}), 1 - 1 - 2);
}

TEST(Optimizer, ShortensGradientsThatAreTooLong) {
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .max_norm = 1}), 1 - 0.5f - 0.5f);
  EXPECT_EQ(after_two_steps({.rate = 0.5f, .max_norm = 3}), 1 - 1 - 1.5f);
}

TEST(Optimizer, MeasuresGradientsOfAllWeightsTogether) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  std::vector<Tensor> weights, gradients;
  double squares = 0;
  for (int64_t count : {1, 15, 16, 17, 1023, 1025, 5000}) {
    weights.emplace_back(TensorType{DType::kF32, {count}});
    gradients.emplace_back(TensorType{DType::kF32, {count}});
    for (float& x : gradients.back().data<float>()) {
      x = normal(rng);
      squares += double{x} * double{x};
    }
  }
  Optimizer optimizer({.rate = 1, .max_norm = 2}, std::vector<std::string>(7));
  ASSERT_TRUE(optimizer.update(weights, gradients).ok());
  for (size_t i = 0; i < weights.size(); ++i) {
    const float want = -gradients[i].data<float>()[0] * static_cast<float>(2 / std::sqrt(squares));
    EXPECT_NEAR(weights[i].data<float>()[0], want, 1e-5f * std::abs(want));
  }
}

TEST(Optimizer, RefusesGradientsThatAreNoNumbers) {
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Optimizer optimizer({.rate = 1}, {"w"});
    std::vector<Tensor> weights{Tensor::of<float>({2}, {3, 4})};
    EXPECT_FALSE(optimizer.update(weights, std::vector{Tensor::of<float>({2}, {1, bad})}).ok());
    EXPECT_EQ(weights[0].data<float>()[0], 3);
  }
}

TEST(Optimizer, GoesOnFromItsState) {
  for (Rule rule : {Rule::kSgd, Rule::kAdam, Rule::kAdamW}) {
    const OptimizerOptions options{
        .rule = rule, .rate = 0.1f, .momentum = 0.9f, .weight_decay = 0.01f};
    Optimizer optimizer(options, {"w"}), other(options, {"w"});
    std::vector<Tensor> weights{Tensor::of<float>({1, 2}, {1, -2})}, copy{weights[0].clone()};
    const std::vector gradients{Tensor::of<float>({1, 2}, {0.3f, 0.5f})};
    for (int step = 0; step < 5; ++step) {
      // A new one at every step, which knows what the last one wrote down.
      Optimizer next(options, {"w"});
      ASSERT_TRUE(next.restore(other.state(), copy).ok());
      other = next;
      ASSERT_TRUE(optimizer.update(weights, gradients).ok());
      ASSERT_TRUE(other.update(copy, gradients).ok());
      EXPECT_TRUE(std::ranges::equal(weights[0].bytes(), copy[0].bytes()));
    }
    auto state = optimizer.state();
    state.erase(state.begin());
    if (state.contains("optimizer.steps")) {
      EXPECT_EQ(other.restore(state, copy).code(), Code::kCorrupt);
    }
  }
}

TEST(Optimizer, ForgetsItsStepsForAStateThatHasNone) {
  for (Rule rule : {Rule::kSgd, Rule::kAdam}) {
    const OptimizerOptions options{.rule = rule, .rate = 0.1f, .momentum = 0.9f};
    Optimizer used(options, {"w"}), fresh(options, {"w"});
    std::vector<Tensor> weights{Tensor::of<float>({2}, {1, -2})}, copy{weights[0].clone()};
    const std::vector gradients{Tensor::of<float>({2}, {0.3f, 0.5f})};
    ASSERT_TRUE(used.update(weights, gradients).ok());
    weights = {copy[0].clone()};
    ASSERT_TRUE(used.restore(fresh.state(), weights).ok());
    EXPECT_EQ(used.steps(), 0);
    ASSERT_TRUE(used.update(weights, gradients).ok());
    ASSERT_TRUE(fresh.update(copy, gradients).ok());
    EXPECT_TRUE(std::ranges::equal(weights[0].bytes(), copy[0].bytes()));
  }
}

TEST(Optimizer, RefusesNumbersOfStepsThatAreNone) {
  Optimizer optimizer({.rule = Rule::kAdam}, {"w"});
  std::vector<Tensor> weights{Tensor::of<float>({1}, {1})};
  ASSERT_TRUE(optimizer.update(weights, std::vector{Tensor::of<float>({1}, {1})}).ok());
  auto state = optimizer.state();
  for (int64_t steps : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                        std::numeric_limits<int64_t>::max()}) {
    state["optimizer.steps"] = Tensor::of<int64_t>({}, {steps});
    EXPECT_EQ(optimizer.restore(state, weights).code(), Code::kCorrupt) << steps;
    EXPECT_EQ(optimizer.steps(), 1);
  }
}

}  // namespace
}  // namespace shoal::train
