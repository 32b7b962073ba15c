#include <gtest/gtest.h>

#include <cmath>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

const Tensor kScores = floats({3, 2}, {-1, -2, -3, -4, -5, -6});

TEST(NegativeLogLikelihoodLoss, AveragesOverTheSamplesThatCount) {
  const Attributes attributes{{"ignore_index", int64_t{-1}}};
  expect_output(evaluate(negative_log_likelihood_loss, {kScores, ints({0, -1, 1})}, attributes),
                floats({}, {3.5f}));
  expect_output(evaluate(negative_log_likelihood_loss,
                         {kScores, ints({0, -1, 1}), floats({2}, {1, 3})}, attributes),
                floats({}, {(1 + 3 * 6) / 4.0f}));
}

TEST(NegativeLogLikelihoodLoss, DoesNotCountATargetThatIsNoClass) {
  expect_output(evaluate(negative_log_likelihood_loss, {kScores, ints({0, 2, -9})},
                         {{"reduction", std::string("none")}}),
                floats({3}, {1, 0, 0}));
}

TEST(NegativeLogLikelihoodLoss, RefusesShapesAndReductionsThatDoNotFit) {
  const Operator& op = negative_log_likelihood_loss;
  expect_refused(evaluate(op, {kScores, ints({0, 1})}), "the target has shape [2]");
  expect_refused(evaluate(op, {kScores, kScores}), "f32");
  expect_refused(evaluate(op, {kScores, ints({0, 1, 0}), floats({3}, {1, 1, 1})}), "per class");
  expect_refused(evaluate(op, {kScores, ints({0, 1, 0})}, {{"reduction", std::string("median")}}),
                 "median");
  expect_refused(evaluate(op, {floats({3}, {1, 2, 3}), ints({0, 1, 0})}), "no classes");
}

TEST(SoftmaxCrossEntropyLoss, GivesTheLogarithmsToo) {
  const Tensor x = floats({1, 2}, {0, 0});
  const auto y = evaluate(softmax_cross_entropy_loss, {x, ints({1})}, {}, 2);
  ASSERT_TRUE(y.ok());
  const float half = std::log(2.0f);
  expect_equal((*y)[0], floats({}, {half}));
  expect_equal((*y)[1], floats({1, 2}, {-half, -half}));
}

}  // namespace
}  // namespace shoal::ops
