#include "shoal/serve/engine/special_answer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shoal::serve {
namespace {

TEST(SpecialAnswer, GivesScoresOfAllClassesOrNone) {
  const SpecialNetwork network{.classes = {4, 1}, .threshold = 0.6};
  const Tensor sure = Tensor::of<float>({1, 3}, {0.F, 2.F, -1.F});
  const auto shares = scores_for_all(network, sure, 5, true);
  ASSERT_TRUE(shares.has_value());
  const double sum = 1 + std::exp(2.0) + std::exp(-1.0);
  const std::vector<double> expected{std::exp(-1.0) / sum / 3, std::exp(2.0) / sum,
                                     std::exp(-1.0) / sum / 3, std::exp(-1.0) / sum / 3, 1 / sum};
  double all = 0;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(shares->data<float>()[i], expected[i], 1e-6) << i;
    all += double{shares->data<float>()[i]};
  }
  EXPECT_NEAR(all, 1, 1e-6);
  EXPECT_EQ(best_classes(*shares), std::vector<size_t>{1});
  const auto scores = scores_for_all(network, sure, 5, false);
  ASSERT_TRUE(scores.has_value());
  EXPECT_NEAR(scores->data<float>()[1], std::log(expected[1]), 1e-5);
  // Not sure enough; another class; one of two items; too few classes.
  EXPECT_FALSE(scores_for_all(network, Tensor::of<float>({1, 3}, {0.F, .1F, 0.F}), 5, true));
  EXPECT_FALSE(scores_for_all(network, Tensor::of<float>({1, 3}, {0.F, 0.F, 9.F}), 5, true));
  EXPECT_FALSE(
      scores_for_all(network, Tensor::of<float>({2, 3}, {0.F, 9.F, 0.F, 0.F, 0.F, 9.F}), 5, true));
  EXPECT_FALSE(scores_for_all(network, sure, 4, true));
  EXPECT_FALSE(scores_for_all(network, Tensor::of<float>({3}, {0.F, 9.F, 0.F}), 5, true));
  EXPECT_TRUE(best_classes(Tensor::of<float>({3}, {0.F, 9.F, 0.F})).empty());
  // Two outputs: there is no "another class".
  EXPECT_TRUE(scores_for_all(network, Tensor::of<float>({1, 2}, {0.F, 9.F}), 5, false));
}

}  // namespace
}  // namespace shoal::serve
