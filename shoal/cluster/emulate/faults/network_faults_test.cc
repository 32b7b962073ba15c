#include "shoal/cluster/emulate/faults/network_faults.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/cluster/net/peers_testing.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using namespace std::chrono_literals;

TEST(SharedNetworkFaults, KnowWorkersByName) {
  const net::TestFolder folder;
  const auto faults = SharedNetworkFaults::make(folder.path() / "faults", {"a", "b"});
  ASSERT_TRUE(faults.ok());
  EXPECT_EQ((*faults)->number_of("b"), 1);
  EXPECT_EQ((*faults)->number_of("anyone"), plan::kCoordinator);
  EXPECT_EQ((*faults)->number_of(""), plan::kCoordinator);
  EXPECT_FALSE(SharedNetworkFaults::open(folder.path() / "none").ok());
  EXPECT_FALSE(
      SharedNetworkFaults::make(folder.path() / "x", std::vector<std::string>(65, "w")).ok());
}

// As two processes have them.
class TwoProcesses : public testing::Test {
 protected:
  net::TestFolder folder_;
  const std::shared_ptr<SharedNetworkFaults> ours_ =
      *SharedNetworkFaults::make(folder_.path() / "faults", {"a", "b"});
  const std::shared_ptr<SharedNetworkFaults> theirs_ =
      *SharedNetworkFaults::open(folder_.path() / "faults");
};

TEST_F(TwoProcesses, ShareFaultsOfEachWay) {
  ours_->cut(0, 1, true);
  EXPECT_TRUE(theirs_->is_cut(0, 1));
  EXPECT_FALSE(theirs_->is_cut(1, 0)) << "the other way";
  ours_->delay(plan::kCoordinator, 1, 20ms);
  EXPECT_EQ(theirs_->delay_of(plan::kCoordinator, 1), 20ms);
  EXPECT_EQ(theirs_->delay_of(1, plan::kCoordinator), 0ms);
  ours_->break_off(1, 0);
  EXPECT_EQ(theirs_->breaks(0, 1), 1u) << "a connection has both ways";
}

TEST_F(TwoProcesses, DamageBytesOnce) {
  ours_->damage(1, 0);
  EXPECT_FALSE(theirs_->take_damage(0, 1));
  EXPECT_TRUE(ours_->is_damaged(1, 0));
  EXPECT_TRUE(theirs_->take_damage(1, 0));
  EXPECT_FALSE(theirs_->take_damage(1, 0));
  EXPECT_FALSE(ours_->is_damaged(1, 0));
}

TEST_F(TwoProcesses, HearOfChanges) {
  const uint32_t before = theirs_->version();
  std::thread waits([&] {
    while (theirs_->version() == before) theirs_->wait(before, net::soon());
  });
  ours_->cut(0, 1, true);
  waits.join();
  EXPECT_FALSE(theirs_->until_open_both_ways(1, 0, {})) << "the deadline has passed";
  std::thread opens([&] { ours_->cut(0, 1, false); });
  EXPECT_TRUE(theirs_->until_open_both_ways(1, 0, net::soon()));
  opens.join();
}

}  // namespace
}  // namespace shoal::emulate
