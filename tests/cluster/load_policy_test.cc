// When plans follow the load of the workers' machines.
#include "shoal/cluster/coordinator/policy/load_policy.h"

#include <gtest/gtest.h>

#include <limits>

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

class Loads : public testing::Test {
 protected:
  Loads() {
    policy_.plan_for(0, 1);
    policy_.plan_for(1, 2);
  }
  // What a worker says every five seconds, and whether plans follow within that time.
  bool see(int worker, double slowdown, std::chrono::seconds time) {
    bool follows = false;
    for (const auto end = now_ + time; now_ < end; now_ += 5s) {
      policy_.see(worker, slowdown, now_);
      follows = policy_.follow(now_) || follows;
    }
    return follows;
  }

  LoadPolicy policy_;
  LoadPolicy::Time now_{1h};
};

TEST_F(Loads, AreFollowedWhenTheyLast) {
  EXPECT_FALSE(see(0, 2, 30s));
  EXPECT_TRUE(see(0, 2, 5s));
  EXPECT_EQ(policy_.planned(0), 2);
  EXPECT_EQ(policy_.planned(1), 2);
  EXPECT_FALSE(see(0, 2, 10min)) << "plans are made for it now";
}

TEST_F(Loads, AreFollowedWhenTheyEnd) {
  EXPECT_TRUE(see(1, 1, 35s));
  EXPECT_EQ(policy_.planned(1), 1);
}

TEST_F(Loads, AreIgnoredWhileTheyAreShort) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(see(0, 3, 25s));
    EXPECT_FALSE(see(0, 1, 5s));
  }
}

TEST_F(Loads, AreIgnoredWhereTheyMakeNoDifference) {
  EXPECT_FALSE(see(0, 1.2, 10min));
  EXPECT_FALSE(see(1, 1.7, 10min));
}

// Two loads in turn, above and below what plans are made for, are no lasting change.
TEST_F(Loads, AreIgnoredWhileTheySwing) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(see(1, 3, 20s));
    EXPECT_FALSE(see(1, 1, 20s));
  }
}

TEST_F(Loads, CountByTheirAverage) {
  EXPECT_FALSE(see(0, 2, 15s));
  EXPECT_FALSE(see(0, 4, 15s));
  EXPECT_TRUE(see(0, 3, 5s));
  EXPECT_EQ(policy_.planned(0), 3);
}

// One search for both: the second has not lasted as long.
TEST_F(Loads, OfSeveralWorkersAreFollowedTogether) {
  EXPECT_FALSE(see(0, 2, 10s));
  const auto begin = now_;
  EXPECT_FALSE(see(0, 2, 20s));
  now_ = begin;
  EXPECT_FALSE(see(1, 1, 20s));
  EXPECT_TRUE(see(0, 2, 5s));
  EXPECT_EQ(policy_.planned(0), 2);
  EXPECT_EQ(policy_.planned(1), 1);
}

TEST_F(Loads, OfWorkersThatWereLostCountAnew) {
  EXPECT_FALSE(see(0, 2, 30s));
  policy_.forget(0);
  EXPECT_FALSE(see(0, 2, 30s));
}

TEST_F(Loads, ThatAreNoNumberOrOfNobodyChangeNothing) {
  EXPECT_FALSE(see(0, std::numeric_limits<double>::quiet_NaN(), 10min));
  EXPECT_FALSE(see(7, 5, 10min));
  EXPECT_EQ(policy_.planned(7), 1);
}

}  // namespace
}  // namespace shoal::cluster
