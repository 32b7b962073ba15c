#include "shoal/cluster/emulate/machines/emulation.h"

#include <gtest/gtest.h>

#include <thread>

#include "shoal/cluster/net/peers_testing.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/plan.h"

namespace shoal::emulate {
namespace {

using namespace std::chrono_literals;

plan::ClusterProfile two(const char* link) {
  plan::ClusterProfile cluster =
      plan::uniform_cluster(2, *plan::find_device("pi4"), *plan::find_link(link));
  cluster.workers[0].name = "left";
  cluster.workers[1].name = "right";
  return cluster;
}

class Emulated : public testing::Test {
 protected:
  net::TestFolder folder_;
  const Emulation emulation_{two("gigabit"), folder_.path(), 3};
};

TEST_F(Emulated, MachinesAreKnownByName) {
  EXPECT_EQ(*emulation_.number_of("right"), 1);
  EXPECT_EQ(*emulation_.number_of(""), plan::kCoordinator);
  EXPECT_EQ(emulation_.number_of("stranger").status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(emulation_.pace_of("stranger").ok());
  EXPECT_FALSE(Emulation().is_on());
}

TEST_F(Emulated, OneWorkerIsSlowedDownAtATime) {
  EXPECT_EQ(emulation_.slowness_of("left"), 1);
  ASSERT_TRUE(emulation_.slow_down("left", 10).ok());
  EXPECT_EQ(emulation_.slowness_of("left"), 10);
  EXPECT_EQ(emulation_.slowness_of("right"), 1);
  ASSERT_TRUE(emulation_.slow_down("right", 5).ok());
  EXPECT_EQ(emulation_.slowness_of("left"), 1);
}

TEST_F(Emulated, PaceFollowsDilationAndSlowness) {
  const auto pace = emulation_.pace_of("right");
  ASSERT_TRUE(pace.ok()) << pace.status().message();
  EXPECT_EQ(pace->profile->name, "right");
  EXPECT_EQ(pace->dilation(), 3);
  ASSERT_TRUE(emulation_.slow_down("right", 5).ok());
  (*emulation_.shared_dilation())->set(4);
  EXPECT_EQ(pace->dilation(), 20);
}

TEST_F(Emulated, WorkersHaveTheDevicesOfTheirCluster) {
  const auto device = make_reference_device(), learner = make_reference_device();
  const auto real = devices_of({}, "right", *device, *learner);
  EXPECT_EQ(&real->device, device.get());
  EXPECT_EQ(&real->learner, learner.get());
  const auto paced = devices_of(emulation_, "right", *device, *learner);
  ASSERT_TRUE(paced.ok()) << paced.status().message();
  EXPECT_NE(&paced->device, device.get());
  EXPECT_NE(&paced->learner, learner.get());
  EXPECT_EQ(paced->made.size(), 2u);
  ASSERT_TRUE(emulation_.let_lie("right", 1).ok());
  EXPECT_EQ(devices_of(emulation_, "right", *device, *learner)->made.size(), 3u);
  EXPECT_EQ(devices_of(emulation_, "left", *device, *learner)->made.size(), 2u);
  EXPECT_FALSE(devices_of(emulation_, "stranger", *device, *learner).ok());
}

TEST_F(Emulated, FaultsAreThereOnceTheyWereMade) {
  EXPECT_EQ(*emulation_.faults(), nullptr);
  EXPECT_FALSE(*emulation_.fault_hook("left"));
  const auto made = emulation_.make_faults({"left", "right"});
  ASSERT_TRUE(made.ok());
  ASSERT_NE(*emulation_.faults(), nullptr);
  (*made)->cut(0, 1, true);
  EXPECT_TRUE((*emulation_.faults())->is_cut(0, 1));
  EXPECT_EQ(*Emulation().faults(), nullptr) << "no folder, no faults";
}

TEST_F(Emulated, WorkersAreHeldAtPoints) {
  ASSERT_TRUE(emulation_.make_faults({"left", "right"}).ok());
  const auto breakpoint = *emulation_.breakpoint();
  const auto hook = *emulation_.fault_hook("right");
  breakpoint->arm(1, 2);
  hook(1);  // another point
  std::thread held([&] { hook(2); });
  EXPECT_TRUE(breakpoint->wait_hit(net::soon()));
  breakpoint->release();
  held.join();
}

// Over emulated links, and over a network with faults.
TEST_F(Emulated, MachinesTalkToEachOther) {
  static const net::TestCluster cluster;
  for (const bool faulty : {false, true}) {
    if (faulty) {
      ASSERT_TRUE(emulation_.make_faults({"left", "right"}).ok());
    }
    auto left = emulation_.transport(cluster.identity("left"), "left");
    auto right = emulation_.transport(cluster.identity("right"), "right");
    ASSERT_TRUE(left.ok() && right.ok());
    net::Pair pair = net::connect_pair(*std::move(left), *std::move(right), ":0");
    EXPECT_TRUE(net::send(*pair.left, net::bytes_of("hello")).ok());
    EXPECT_TRUE(pair.right->receive(net::soon()).ok());
  }
  EXPECT_FALSE(emulation_.transport(cluster.identity("left"), "stranger").ok());
}

TEST(Heartbeat, IsAsMuchSlowerAsEverythingIs) {
  EXPECT_EQ(heartbeat_of(two("gigabit"), 3, 160ms), 480ms);
  EXPECT_EQ(heartbeat_of(two("gigabit"), 0.5, 160ms), 160ms) << "this machine is not faster";
  EXPECT_EQ(heartbeat_of(two("wifi-43.8"), 2, 160ms), 3200ms) << "radios take turns";
}

TEST(Lull, IsLongEnoughForTheLastRadioToSleep) {
  plan::ClusterProfile cluster = two("gigabit");
  EXPECT_EQ(lull_of(cluster, 3), 0ms) << "a cable does not sleep";
  cluster.links[0].wakeup_seconds = cluster.links[1].wakeup_seconds = 0.01;
  cluster.links[0].sleep_after_seconds = 0.1;
  cluster.links[1].sleep_after_seconds = 0.2;
  EXPECT_EQ(lull_of(cluster, 1), 300ms);
  EXPECT_EQ(lull_of(cluster, 3), 900ms);
}

}  // namespace
}  // namespace shoal::emulate
