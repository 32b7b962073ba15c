// The devices that a server shows: those of its machine, or a cluster.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "shoal/cluster/device/board.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/search/choices.h"
#include "shoal/serve/devices/cluster_view.h"
#include "shoal/serve/devices/local_devices.h"

namespace shoal::serve {
namespace {

TEST(LocalDevices, BeginWithTheOneThatComputes) {
  for (const std::string used : {"cpu", "reference"}) {
    const DeviceList list = devices_here(used, 3);
    ASSERT_GE(list.devices.size(), 2U);
    EXPECT_EQ(list.devices[0].name, used);
    EXPECT_EQ(list.devices[0].role, "computes");
    EXPECT_EQ(list.devices[0].threads, 3);
    EXPECT_GT(list.devices[0].memory_bytes, 0U);
    for (size_t i = 1; i < list.devices.size(); ++i) {
      EXPECT_EQ(list.devices[i].role, "idle");
      EXPECT_EQ(list.devices[i].threads, 0);
      EXPECT_NE(list.devices[i].name, used);
    }
  }
}

// Two devices of this process, and a worker that never answers.
class Viewed : public testing::Test {
 protected:
  static std::shared_ptr<cluster::ClusterConnection> connect(cluster::Board& board) {
    auto workers = board.workers;
    workers.push_back({"hall", "nowhere"});
    return *cluster::ClusterConnection::open(std::move(workers), std::move(board.transport));
  }
  static cluster::Board start() {
    std::vector<cluster::BoardDevice> devices;
    for (const char* name : {"attic", "cellar"}) {
      devices.push_back({name, make_reference_device()});
    }
    return *cluster::start_board(std::move(devices));
  }
  // By devices of this speed.
  void add(const std::set<int>& workers, double speed) {
    plan::ClusterProfile profile;
    for (const char* name : {"attic", "cellar", "hall"}) {
      profile.workers.push_back(plan::uniform_worker(name, speed, speed));
      profile.links.emplace_back();
    }
    view_.add(graph_, *plan::make_plan_for(workers, graph_, profile, {}));
  }
  static Graph network() {
    Graph graph;
    graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {1, 4, 48, 48}})}));
    return graph;
  }

  cluster::Board board_ = start();
  const Graph graph_ = network();
  ClusterView view_{connect(board_)};
};

TEST_F(Viewed, WorkersAreThereOrLost) {
  DeviceList list = view_.list();
  ASSERT_EQ(list.devices.size(), 4U);
  EXPECT_EQ(list.devices[0].role, "coordinator");
  EXPECT_EQ(list.devices[1].name, "attic");
  EXPECT_EQ(list.devices[1].role, "worker");
  EXPECT_EQ(list.devices[1].lost, "");
  EXPECT_EQ(list.devices[3].name, "hall");
  EXPECT_NE(list.devices[3].lost, "");
  ASSERT_EQ(list.links.size(), 3U);
  EXPECT_EQ(list.links[1].to, "cellar");
  EXPECT_FALSE(list.links[2].round_trip_ms.has_value());
  // Asked about themselves, workers are in a later list.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!list.links[1].round_trip_ms && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    list = view_.list();
  }
  EXPECT_TRUE(list.links[1].round_trip_ms.has_value());
  EXPECT_GT(list.devices[2].memory_bytes, 0U);
  EXPECT_EQ(list.devices[3].memory_bytes, 0U);
}

// Of the plans for one network, the fastest whose workers are all present.
TEST_F(Viewed, PlansAreThoseThatAreCarriedOut) {
  EXPECT_TRUE(view_.list().plans.empty());
  add({0}, 1e3);
  ASSERT_EQ(view_.list().plans.size(), 1U);
  const PlanEntry alone = view_.list().plans[0];
  EXPECT_EQ(alone.model, "x " + to_string(graph_[graph_.inputs()[0]].type));
  ASSERT_NE(alone.picture, nullptr);
  EXPECT_NE(alone.picture->find("attic"), std::string::npos);
  add({0, 1, 2}, 1e3);
  EXPECT_EQ(view_.list().plans[0].id, alone.id) << "one of its workers is lost";
  add({0, 1}, 1e3);
  const PlanEntry together = view_.list().plans[0];
  EXPECT_NE(together.id, alone.id);
  EXPECT_LT(together.ms, alone.ms);
  add({0, 1}, 1);
  ASSERT_EQ(view_.list().plans.size(), 1U);
  EXPECT_EQ(view_.list().plans[0].id, alone.id) << "the plan for both was made again, and is slow";
}

}  // namespace
}  // namespace shoal::serve
