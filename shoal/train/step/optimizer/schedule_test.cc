#include "shoal/train/step/optimizer/schedule.h"

#include <gtest/gtest.h>

#include "shoal/train/step/optimizer/optimizer.h"

namespace shoal::train {
namespace {

using Kind = Schedule::Kind;

TEST(Schedule, GrowsEvenlyWhileWarmingUp) {
  for (Kind kind : {Kind::kConstant, Kind::kStep, Kind::kCosine}) {
    const Schedule schedule{.kind = kind, .warm_up = 4, .total = 10, .every = 3};
    EXPECT_EQ(factor_at(schedule, 0), 0.25);
    EXPECT_EQ(factor_at(schedule, 3), 1);
    EXPECT_EQ(factor_at(schedule, 4), 1);
  }
}

TEST(Schedule, DropsInSteps) {
  const Schedule schedule{.kind = Kind::kStep, .warm_up = 2, .every = 3, .drop = 0.5};
  EXPECT_EQ(factor_at(schedule, 4), 1);
  EXPECT_EQ(factor_at(schedule, 5), 0.5);
  EXPECT_EQ(factor_at(schedule, 8), 0.25);
}

TEST(Schedule, FollowsACosineToZero) {
  const Schedule schedule{.kind = Kind::kCosine, .total = 8};
  EXPECT_EQ(factor_at(schedule, 0), 1);
  EXPECT_NEAR(factor_at(schedule, 4), 0.5, 1e-12);
  EXPECT_NEAR(factor_at(schedule, 8), 0, 1e-12);
  EXPECT_NEAR(factor_at(schedule, 9), 0, 1e-12);  // training that goes on for longer
}

TEST(Schedule, IsFoundByName) {
  for (Kind kind : {Kind::kConstant, Kind::kStep, Kind::kCosine}) {
    EXPECT_EQ(find_schedule(name_of(kind)), kind);
  }
  EXPECT_FALSE(find_schedule("linear"));
}

TEST(Rule, IsFoundByName) {
  using Rule = OptimizerOptions::Rule;
  for (Rule rule : {Rule::kSgd, Rule::kAdam, Rule::kAdamW}) {
    EXPECT_EQ(find_rule(name_of(rule)), rule);
  }
  EXPECT_EQ(name_of(Rule::kAdamW), "adamw");
  EXPECT_FALSE(find_rule("rmsprop"));
}

}  // namespace
}  // namespace shoal::train
