// A connection to a cluster: which workers it has, and what it knows of them.
#include "shoal/cluster/cluster_connection.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/cluster_device.h"
#include "shoal/cluster/profile_store.h"
#include "shoal/net/test_peers.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

class Connections : public testing::Test {
 protected:
  Result<std::unique_ptr<ClusterConnection>> open(std::vector<ListedWorker> workers,
                                                  ConnectionOptions options = {}) {
    return ClusterConnection::open(std::move(workers),
                                   cluster_.network().transport("another coordinator"),
                                   std::move(options));
  }
  static ListedWorker listed(int worker) { return {address_of(worker), address_of(worker)}; }

  Cluster cluster_{3};
  const Graph graph_ = wide_layers();
  net::TestFolder folder_;
};

TEST_F(Connections, LeaveOutWorkersThatDoNotAnswer) {
  const auto made = open({listed(2), {"hall", "nowhere"}, listed(0)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->workers(), (std::vector<ListedWorker>{listed(2), listed(0)}));
  EXPECT_EQ((*made)->coordinator().missing().size(), 1u);
}

TEST_F(Connections, NeedAWorker) {
  EXPECT_EQ(open({}).status().code(), Code::kNotFound);
  EXPECT_EQ(open({{"hall", "nowhere"}}).status().code(), Code::kUnavailable);
}

TEST_F(Connections, TakeProfilesThatAreGivenByName) {
  plan::ClusterProfile given = slow_workers(3);
  given.workers[2].memory_bytes = 123;
  given.links[0].latency_seconds = 0.5;
  const auto made = open({listed(2), listed(0)}, {.cache = folder_.path(), .profile = given});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto profile = (*made)->profile(graph_);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->workers.size(), 2u);
  EXPECT_EQ(profile->workers[0].name, address_of(2));
  EXPECT_EQ(profile->workers[0].memory_bytes, 123);
  EXPECT_EQ(profile->links[1].latency_seconds, 0.5);
  given.workers[0].name = "hall";
  const auto other = open({listed(0)}, {.profile = given});
  EXPECT_EQ((*other)->profile(graph_).status().code(), Code::kInvalidArgument);
}

TEST_F(Connections, MeasureAGraphOnceWhereTheyHaveACache) {
  const auto made = open({listed(0), listed(1)}, {.cache = folder_.path()});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const ProfileStore store(folder_.path(), graph_, (*made)->workers());
  ASSERT_TRUE((*made)->profile(graph_).ok());
  auto known = store.load(std::chrono::system_clock::now());
  ASSERT_TRUE(known);
  known->workers[1].memory_bytes = 123;  // not what is measured
  store.save(*known, std::chrono::system_clock::now());
  EXPECT_EQ((*made)->profile(graph_)->workers[1].memory_bytes, 123);

  (*made)->compare(graph_, 1, 1.2);
  EXPECT_EQ((*made)->profile(graph_)->workers[1].memory_bytes, 123);
  (*made)->compare(graph_, 1, 1.3);
  EXPECT_NE((*made)->profile(graph_)->workers[1].memory_bytes, 123);
}

TEST_F(Connections, MakeADeviceThatOwnsThem) {
  auto made = open({listed(0), listed(1)}, {.profile = slow_workers(3)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::vector<bool> compiling;
  std::unique_ptr<Executable> executable;
  {
    const auto device = make_cluster_device(
        std::shared_ptr<ClusterConnection>(*std::move(made)),
        {.timeout = 20s, .compiling = [&](bool begins) { compiling.push_back(begins); }});
    EXPECT_EQ(device->info().name, "cluster(2)");
    executable = *device->compile(graph_);
  }
  EXPECT_EQ(compiling, (std::vector<bool>{true, false}));
  plan::Rng rng(2);
  const std::vector<Tensor> inputs = {
      plan::random_tensor(rng, graph_[graph_.inputs()[0]].type.shape)};
  std::vector<Tensor> outputs(1);
  const Status status = executable->run(inputs, outputs, {});
  ASSERT_TRUE(status.ok()) << status.message();
  plan::expect_near(outputs, run_whole(graph_, inputs));
}

}  // namespace
}  // namespace shoal::cluster
