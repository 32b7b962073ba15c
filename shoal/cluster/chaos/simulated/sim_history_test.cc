#include "shoal/cluster/chaos/simulated/sim_history.h"

#include <gtest/gtest.h>

namespace shoal::chaos {
namespace {

TEST(History, FollowsFromItsSeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const History once = live_through(seed), again = live_through(seed);
    EXPECT_EQ(once.hash, again.hash) << seed;
    EXPECT_NE(once.hash, live_through(seed + 1000).hash) << seed;
  }
}

TEST(History, KeepsWhatWasPromised) {
  const Campaign campaign = live_through(1, 300);
  EXPECT_EQ(campaign.violations, 0u)
      << "seed " << campaign.first_bad_seed << ": " << campaign.first_violation;
  EXPECT_EQ(campaign.answered + campaign.failed, campaign.requests);
  EXPECT_GT(campaign.replayed, 0u) << "faults are to hit requests";
}

TEST(Histories, AreCountedOnTheWayAndNamedByTheFirstBadSeed) {
  std::vector<uint64_t> done;
  Campaign campaign = live_through(7, 3, [&](uint64_t count) { done.push_back(count); });
  EXPECT_EQ(done, (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(campaign.verdict().kind, Verdict::Kind::kKept);
  EXPECT_EQ(object_of(facts_of(campaign))["first_bad_seed"].dump(), "-1");
  campaign.first_bad_seed = 8;
  campaign.first_violation = "twice";
  EXPECT_EQ(campaign.verdict().why, "seed 8: twice");
  EXPECT_EQ(campaign.verdict().kind, Verdict::Kind::kWrong);
}

}  // namespace
}  // namespace shoal::chaos
