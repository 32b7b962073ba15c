#include "shoal/chaos/simulated/history.h"

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

}  // namespace
}  // namespace shoal::chaos
