#include "shoal/cluster/chaos/processes/equal_plans.h"

#include <gtest/gtest.h>

#include "here.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

TEST(EqualPlans, AreOneForEveryNumberOfWorkers) {
  EqualPlans plans(wide_layers(), slow_workers(4), {});
  const auto first = plans.plan_for({0, 1, 2});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(plan::workers_of(first->plan()), (std::vector<int>{0, 1, 2}));
  const auto other = plans.plan_for({0, 2, 3});
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(plan::workers_of(other->plan()), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(&other->graph(), &first->graph()) << "it was made once";
  EXPECT_TRUE(plan::verify(other->graph(), other->plan(), 4).ok());
}

TEST(EqualPlans, LeaveWorkersThatStayWhereTheyAre) {
  EqualPlans plans(wide_layers(), slow_workers(4), {});
  const plan::Plan all = plans.plan_for({0, 1, 2})->plan();
  const plan::Plan without = plans.plan_for({0, 2, 3})->plan();
  ASSERT_EQ(all.segments.size(), without.segments.size());
  for (size_t s = 0; s < all.segments.size(); ++s) {
    for (size_t t = 0; t < all.segments[s].tasks.size(); ++t) {
      const plan::Task &before = all.segments[s].tasks[t], &after = without.segments[s].tasks[t];
      EXPECT_EQ(before.outputs, after.outputs);
      EXPECT_EQ(after.worker, before.worker == 1 ? 3 : before.worker);
    }
  }
}

TEST(EqualPlans, SurviveAsManyLossesAsTheyCan) {
  EqualPlans plans(wide_layers(), slow_workers(4), {.survive = 2});
  EXPECT_EQ(plans.plan_for({0, 1, 2, 3})->plan().survives, 2);
  EXPECT_EQ(plans.plan_for({1, 3})->plan().survives, 1);
  EXPECT_EQ(plans.plan_for({2})->plan().survives, 0);
}

}  // namespace
}  // namespace shoal::cluster
