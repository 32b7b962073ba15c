#include "shoal/cluster/chaos/training/training_history.h"

#include <gtest/gtest.h>

#include "shoal/engine/device/device.h"

namespace shoal::chaos {
namespace {

// Some, for sanitizers to look at; more where they do not (tests/learn/session_test.cc).
TEST(TrainingHistories, KeepTheirPromises) {
  const auto device = make_reference_device();
  TrainingHistories histories(*device);
  const TrainingCampaign campaign = histories.live_through(1, 40);
  EXPECT_EQ(campaign.violations, 0u)
      << "seed " << campaign.first_bad_seed << ": " << campaign.first_violation;
  EXPECT_GT(campaign.compared, 10u);
  EXPECT_GT(campaign.kills, 10);
  EXPECT_GT(campaign.hub_kills, 10);
  EXPECT_GT(campaign.damages, 5);
  EXPECT_EQ(campaign.verdict().kind, Verdict::Kind::kKept);
  EXPECT_EQ(object_of(facts_of(campaign))["histories"].dump(), "40");
}

TEST(TrainingHistories, FollowFromTheSeed) {
  const auto device = make_reference_device();
  TrainingHistories histories(*device);
  for (const uint64_t seed : {3u, 4u, 5u}) {
    const TrainingFigures first = histories.live_through(seed).figures;
    const TrainingFigures second = histories.live_through(seed).figures;
    EXPECT_EQ(first.micro_batches, second.micro_batches);
    EXPECT_EQ(first.longest_recovery, second.longest_recovery);
  }
}

}  // namespace
}  // namespace shoal::chaos
