#include "shoal/engine/run/scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shoal::fit {
namespace {

using Scores = std::vector<float>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Scores, RankCountsHigherClassesAndEarlierEquals) {
  const Scores scores = {3, 7, 7, 1};
  EXPECT_EQ(rank_of(scores, 1), 0u);
  EXPECT_EQ(rank_of(scores, 2), 1u);
  EXPECT_EQ(rank_of(scores, 0), 2u);
  EXPECT_EQ(rank_of(scores, 3), 3u);
}

TEST(Scores, RankOfNoClassIsBehindAll) {
  const Scores scores = {3, 7};
  EXPECT_EQ(rank_of(scores, 2), 2u);
  EXPECT_EQ(rank_of(scores, -1), 2u);
}

TEST(Scores, BestClassIsTheFirstOfEquals) {
  EXPECT_EQ(best_class(Scores{3, 7, 7, 1}), 1);
  EXPECT_EQ(best_class(Scores{-3}), 0);
}

TEST(Scores, SoftmaxAddsUpToOneWithoutOverflow) {
  const std::vector<double> p = softmax(Scores{1000, 1000, 999});
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-12);
  EXPECT_NEAR(p[2] / p[0], std::exp(-1.0), 1e-12);
  EXPECT_TRUE(softmax(Scores{}).empty());
}

TEST(Scores, AreProbabilitiesIfTheyAddUpToOne) {
  EXPECT_TRUE(are_probabilities(Scores{0.25f, 0.75f, 0}));
  EXPECT_FALSE(are_probabilities(Scores{0.25f, 0.5f}));
  EXPECT_FALSE(are_probabilities(Scores{-0.5f, 1.5f}));
}

TEST(Scores, TopClassesAreOrderedWithTheirProbability) {
  const auto raw = top_classes(Scores{0, 2, 2, 1}, 3);
  ASSERT_EQ(raw.size(), 3u);
  EXPECT_EQ(raw[0].index, 1u);
  EXPECT_EQ(raw[1].index, 2u);
  EXPECT_EQ(raw[2].index, 3u);
  EXPECT_EQ(raw[0].score, 2);
  EXPECT_NEAR(raw[0].probability, 1 / (2 + std::exp(-1.0) + std::exp(-2.0)), 1e-6);
  const auto behind_softmax = top_classes(Scores{0.25f, 0.75f}, 9);
  ASSERT_EQ(behind_softmax.size(), 2u);
  EXPECT_EQ(behind_softmax[0].probability, 0.75);
}

TEST(Scores, PutNanBehindEveryNumber) {
  const Scores scores = {kNan, 1, kNan, -kInf, 2};
  EXPECT_EQ(rank_of(scores, 4), 0u);
  EXPECT_EQ(rank_of(scores, 3), 2u);
  EXPECT_EQ(rank_of(scores, 0), 5u);
  EXPECT_EQ(best_class(scores), 4);
  const auto ranked = top_classes(scores, 5);
  std::vector<size_t> order;
  for (const RankedClass& r : ranked) order.push_back(r.index);
  EXPECT_EQ(order, (std::vector<size_t>{4, 1, 3, 0, 2}));
  EXPECT_NEAR(ranked[0].probability, 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_EQ(ranked[4].probability, 0);
}

TEST(Scores, OfNanAloneHaveNoRightAnswer) {
  const Scores scores = {kNan, kNan};
  EXPECT_EQ(rank_of(scores, 0), 2u);
  EXPECT_EQ(softmax(scores), (std::vector<double>{0, 0}));
  const Tensor labels = Tensor::of<int64_t>({1}, {0});
  EXPECT_EQ(count_correct(Tensor::of<float>({1, 2}, scores), labels, 1), 0u);
}

TEST(Scores, SoftmaxOfAnInfiniteScoreIsCertain) {
  EXPECT_EQ(softmax(Scores{0, kInf}), (std::vector<double>{0, 1}));
}

TEST(Scores, CorrectAnswersAreCountedUpToARow) {
  const Tensor scores = Tensor::of<float>({3, 2}, {1, 0, 0, 1, 0, 1});
  const Tensor labels = Tensor::of<int64_t>({3}, {0, 0, 1});
  EXPECT_EQ(count_correct(scores, labels, 3), 2u);
  EXPECT_EQ(count_correct(scores, labels, 2), 1u);
}

}  // namespace
}  // namespace shoal::fit
