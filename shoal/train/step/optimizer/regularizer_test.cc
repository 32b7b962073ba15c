#include "shoal/train/step/optimizer/regularizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shoal::train {
namespace {

using Groups = Regularizer::Groups;
using Penalty = Regularizer::Penalty;

constexpr Penalty kPenalties[] = {Penalty::kLasso, Penalty::kSquare, Penalty::kHoyer};
constexpr Groups kGroups[] = {Groups::kElements, Groups::kFilters, Groups::kChannels,
                              Groups::kColumns,  Groups::kBlocks,  Groups::kClusters};

Tensor random_weight(const Shape& shape, std::mt19937& rng) {
  Tensor weight({DType::kF64, shape});
  std::normal_distribution<double> normal;
  for (double& x : weight.data<double>()) x = normal(rng);
  return weight;
}

double penalty_of(const Regularizer& regularizer, const Tensor& weight) {
  Tensor ignored(weight.type());
  return regularize(regularizer, weight, ignored);
}

TEST(Regularizer, GradientsAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-5, kTolerance = 1e-6;
  std::mt19937 rng(1);
  for (const Shape& shape : {Shape{5, 7}, Shape{4, 3, 2, 2}}) {
    for (Penalty penalty : kPenalties) {
      for (Groups groups : kGroups) {
        const Regularizer regularizer{
            .penalty = penalty, .groups = groups, .strength = 0.3, .block = 3, .clusters = 2};
        Tensor weight = random_weight(shape, rng), gradient(weight.type());
        regularize(regularizer, weight, gradient);
        for (size_t i = 0; i < weight.data<double>().size(); ++i) {
          double& w = weight.data<double>()[i];
          const double at = w;
          w = at + kStep;
          const double above = penalty_of(regularizer, weight);
          w = at - kStep;
          const double below = penalty_of(regularizer, weight);
          w = at;
          const double want = (above - below) / (2 * kStep);
          EXPECT_NEAR(gradient.data<double>()[i], want, kTolerance * std::max(1.0, std::abs(want)));
        }
      }
    }
  }
}

TEST(Regularizer, IsWhatItsNamesSay) {
  const Tensor weight = Tensor::of<float>({2, 2}, {3, -4, 0, 0});
  const auto value = [&](Penalty penalty, Groups groups) {
    return penalty_of({.penalty = penalty, .groups = groups, .strength = 2, .block = 2}, weight);
  };
  EXPECT_DOUBLE_EQ(value(Penalty::kLasso, Groups::kElements), 2 * 7);    // L1
  EXPECT_DOUBLE_EQ(value(Penalty::kSquare, Groups::kElements), 2 * 25);  // L2
  EXPECT_DOUBLE_EQ(value(Penalty::kLasso, Groups::kFilters), 2 * 5);
  EXPECT_DOUBLE_EQ(value(Penalty::kLasso, Groups::kChannels), 2 * 7);
  EXPECT_DOUBLE_EQ(value(Penalty::kLasso, Groups::kBlocks), 2 * 5);
  EXPECT_DOUBLE_EQ(value(Penalty::kHoyer, Groups::kElements), 2 * 49.0 / 25);
  EXPECT_DOUBLE_EQ(value(Penalty::kHoyer, Groups::kFilters), 2 * 1);  // one group is left
}

// Norms of the parts of lines outside of the blocks on the diagonal, along the shorter side.
TEST(Regularizer, PenalizesOutliersOfClusters) {
  const Regularizer regularizer{.groups = Groups::kClusters, .strength = 1, .clusters = 2};
  const Tensor high = Tensor::of<float>({4, 2}, {9, 3,  //
                                                 9, 4,  //
                                                 5, 9,  //
                                                 12, 9});
  EXPECT_DOUBLE_EQ(penalty_of(regularizer, high), 5 + 13);
  const Tensor wide = Tensor::of<float>({2, 4}, {9, 9, 3, 4,  //
                                                 5, 12, 9, 9});
  EXPECT_DOUBLE_EQ(penalty_of(regularizer, wide), 5 + 13);
}

TEST(Regularizer, LeavesOutSmallGroups) {
  const Tensor weight = Tensor::of<float>({4, 2}, {9, 3,  //
                                                   9, 4,  //
                                                   1, 9,  //
                                                   1, 9});
  const auto left = [&](Groups groups, double share) {
    const Tensor w = without_small_groups({.groups = groups, .clusters = 2}, weight, share);
    return std::vector<float>(w.data<float>().begin(), w.data<float>().end());
  };
  EXPECT_EQ(left(Groups::kClusters, 0.2), (std::vector<float>{9, 3, 9, 4, 1, 9, 1, 9}));
  EXPECT_EQ(left(Groups::kClusters, 0.3), (std::vector<float>{9, 3, 9, 4, 0, 9, 0, 9}));
  EXPECT_EQ(left(Groups::kElements, 0.4), (std::vector<float>{9, 0, 9, 4, 0, 9, 0, 9}));
}

// Whatever the scale, and between 1 and the number of groups.
TEST(Regularizer, HoyerMeasuresHowManyGroupsThereAre) {
  std::mt19937 rng(2);
  for (int round = 0; round < 20; ++round) {
    const Regularizer regularizer{
        .penalty = Penalty::kHoyer, .groups = Groups::kFilters, .strength = 1};
    Tensor weight = random_weight({6, 5}, rng);
    const double value = penalty_of(regularizer, weight);
    EXPECT_GE(value, 1);
    EXPECT_LE(value, 6);
    for (double& x : weight.data<double>()) x *= 100;
    EXPECT_NEAR(penalty_of(regularizer, weight), value, 1e-12 * value);
  }
}

// Descending the penalty alone: Hoyer drives lines to zero and spares the largest, lasso shrinks
// all.
TEST(Regularizer, HoyerSparesWhatIsLarge) {
  std::mt19937 rng(3);
  const Tensor begin = random_weight({8, 16}, rng);
  const auto largest_after = [&](Penalty penalty) {
    const Regularizer regularizer{.penalty = penalty, .groups = Groups::kFilters, .strength = 1};
    Tensor weight = begin.clone();
    for (int step = 0; step < 400; ++step) {
      Tensor gradient(weight.type());
      regularize(regularizer, weight, gradient);
      for (size_t i = 0; i < weight.data<double>().size(); ++i) {
        weight.data<double>()[i] -= 0.005 * gradient.data<double>()[i];
      }
    }
    double largest = 0;
    for (size_t row = 0; row < 8; ++row) {
      double square = 0;
      for (double x : weight.data<double>().subspan(row * 16, 16)) square += x * x;
      largest = std::max(largest, std::sqrt(square));
    }
    return largest;
  };
  const double before = largest_after(Penalty::kSquare) / std::pow(1 - 0.01, 400);  // known decay
  EXPECT_GT(largest_after(Penalty::kHoyer), 0.95 * before);
  EXPECT_NEAR(largest_after(Penalty::kLasso), before - 2, 1e-6);
}

TEST(Regularizer, LeavesZerosAtZero) {
  for (Penalty penalty : kPenalties) {
    const Tensor weight({DType::kF32, {3, 4}});
    Tensor gradient(weight.type());
    EXPECT_EQ(regularize({.penalty = penalty, .strength = 1}, weight, gradient), 0);
    EXPECT_TRUE(std::ranges::all_of(gradient.data<float>(), [](float g) { return g == 0; }));
  }
}

TEST(Regularizer, IsReadFromText) {
  const auto plain = parse_regularizer("lasso:filters:1e-4");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->penalty, Penalty::kLasso);
  EXPECT_EQ(plain->groups, Groups::kFilters);
  EXPECT_EQ(plain->strength, 1e-4);
  EXPECT_FALSE(plain->applies);  // to all
  const auto some = parse_regularizer("hoyer:columns:0.5:fc[12]*:x");
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->penalty, Penalty::kHoyer);
  EXPECT_EQ(some->groups, Groups::kColumns);
  EXPECT_TRUE(some->applies("fc1.weight:x"));
  EXPECT_FALSE(some->applies("fc3.weight:x"));
  EXPECT_EQ(parse_regularizer("square:rows:1")->groups, Groups::kFilters);
  EXPECT_EQ(parse_regularizer("lasso:clusters3:1")->groups, Groups::kClusters);
  EXPECT_EQ(parse_regularizer("lasso:clusters3:1")->clusters, 3);
}

TEST(Regularizer, RefusesTextThatIsNoPenalty) {
  for (const char* text :
       {"", "lasso", "lasso:filters", "lasso:filters:", "lasso:filters:x", "lasso:filters:-1",
        "lasso:filters:nan", "lasso:filters:inf", "lasso:filters:1e999", "ridge:filters:1",
        "lasso:layers:1", "lasso:filters:1e-4x", "lasso:clusters:1", "lasso:clusters1:1",
        "lasso:clusters65:1", "lasso:clusters4x:1", "lasso:clusters-4:1"}) {
    EXPECT_EQ(parse_regularizer(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace shoal::train
