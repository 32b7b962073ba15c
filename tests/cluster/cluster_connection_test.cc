// A connection to a cluster: its workers, and its knowledge of them.
#include "shoal/cluster/device/cluster_connection.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "here.h"
#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/cluster/profiling/profile_store.h"
#include "shoal/plan/cost/plan_stats.h"
#include "unhurried.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

class Connections : public testing::Test {
 protected:
  Result<std::unique_ptr<ClusterConnection>> open(std::vector<ListedWorker> workers,
                                                  ConnectionOptions options = {}) {
    return ClusterConnection::open(std::move(workers),
                                   cluster_.network().transport("another coordinator", unhurried()),
                                   std::move(options));
  }
  static ListedWorker listed(int worker) { return {address_of(worker), address_of(worker)}; }

  Cluster cluster_{3};
  const Graph graph_ = wide_layers();
  net::TestFolder folder_;
};

TEST_F(Connections, LeaveOutWorkersThatDoNotAnswer) {
  std::vector<std::string> left_out;
  const std::vector<ListedWorker> workers = {listed(2), {"hall", "nowhere"}, listed(0)};
  const auto made =
      open(workers, {.left_out = [&](const Status& why) { left_out.emplace_back(why.message()); }});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->workers(), workers) << "it may come later";
  EXPECT_EQ((*made)->coordinator().present(), (Workers{0, 2}));
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_TRUE(left_out[0].starts_with("worker hall")) << left_out[0];
}

TEST_F(Connections, LeaveOutWorkersThatCannotBeMeasured) {
  std::vector<std::string> left_out;
  cluster_.start(1, {.weight_bytes = 16, .plan_bytes = 16});
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 64}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {64, 64}}));
  graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
  const auto made =
      open({listed(0), listed(1)},
           {.left_out = [&](const Status& why) { left_out.emplace_back(why.message()); }});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const auto profile = (*made)->profile(graph);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_TRUE(profile->workers[0].present);
  EXPECT_FALSE(profile->workers[1].present);
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_TRUE(left_out[0].starts_with("worker worker-1")) << left_out[0];
  EXPECT_EQ((*made)->profile(graph, {1}).status().code(), Code::kExhausted);
}

// Knowledge about workers and links: of the present workers, since they were measured.
TEST_F(Connections, KnowWorkersAndLinks) {
  cluster_.worker(1).stop();
  const auto made = open({listed(0), listed(1)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE((*made)->known_links()[0].has_value());
  ASSERT_TRUE((*made)->profile(graph_).ok());
  EXPECT_GT((*made)->known_links()[0]->bytes_per_second, 0);
  EXPECT_FALSE((*made)->known_links()[1].has_value());
  for (int round = 0; round < 2; ++round) {
    const auto reports = (*made)->ask_workers();
    ASSERT_EQ(reports.size(), 2u);
    ASSERT_TRUE(reports[0].has_value());
    EXPECT_GT(reports[0]->state.memory_bytes, 0u);
    EXPECT_GT(reports[0]->round_trip_seconds, 0);
    EXPECT_FALSE(reports[1].has_value());
  }
  cluster_.worker(0).stop();
  EXPECT_FALSE((*made)->ask_workers()[0].has_value());
}

// A folder that was restored from a backup counts lower than the workers.
TEST_F(Connections, GoBeyondTheEpochThatWorkersFollow) {
  const ClusterFolder folder(folder_.path());
  const auto exclusive = [&] {
    return open({listed(0), listed(1)},
                {.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); }});
  };
  const auto before = cluster_.connect({.epoch = 41});
  ASSERT_TRUE(before.ok());
  const auto made = exclusive();
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_TRUE((*made)->coordinator().lost().empty());
  EXPECT_EQ(*folder.next_epoch(), 43u);
  EXPECT_TRUE(eventually([&] { return (*before)->lost().size() == 2; })) << "it is taken over";
}

// A worker that claims the last possible epoch does not block the others.
TEST_F(Connections, IgnoreAnEpochThatCannotBe) {
  const auto network = cluster_.network().transport("liar", unhurried());
  auto listener = *network->listen("liar");
  std::thread liar([&] {
    for (;;) {
      const auto channel = listener->accept(net::Deadline::max());
      if (!channel.ok()) return;
      message::Message reply;
      reply.mutable_failed()->set_code(static_cast<uint32_t>(Code::kInvalidArgument));
      reply.mutable_failed()->set_epoch(UINT64_MAX);
      EXPECT_TRUE((*channel)->receive(net::Deadline::max()).ok());
      EXPECT_TRUE(send(**channel, reply).ok());
    }
  });
  const ClusterFolder folder(folder_.path());
  const auto made =
      open({listed(0), {"liar", "liar"}},
           {.next_epoch = [folder](uint64_t beyond) { return folder.next_epoch(beyond); }});
  EXPECT_TRUE(made.ok()) << made.status().message();
  if (made.ok()) {
    EXPECT_EQ((*made)->coordinator().present(), (Workers{0}));
  }
  listener->close();
  liar.join();
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
  EXPECT_EQ(count_present(*profile), 2u);
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
  const ProfileStore store(folder_.path(), graph_, listed(1));
  ASSERT_TRUE((*made)->profile(graph_).ok());
  auto known = store.load(std::chrono::system_clock::now());
  ASSERT_TRUE(known);
  known->profile.memory_bytes = 123;  // not the measured value
  store.save(*known, std::chrono::system_clock::now());
  EXPECT_EQ((*made)->profile(graph_)->workers[1].memory_bytes, 123);

  (*made)->compare(graph_, 1, 1.2);
  EXPECT_EQ((*made)->profile(graph_)->workers[1].memory_bytes, 123);
  (*made)->compare(graph_, 1, 1.3);
  EXPECT_NE((*made)->profile(graph_)->workers[1].memory_bytes, 123);
}

// One that comes later is measured alone, and used.
TEST_F(Connections, MakeADeviceThatUsesWhoComesLater) {
  cluster_.worker(1).stop();
  auto made = open({listed(0), listed(1)}, {.cache = folder_.path(), .profile = slow_workers(3)});
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::atomic<int> used = 0;
  const auto device = make_cluster_device(
      std::shared_ptr<ClusterConnection>(*std::move(made)),
      {.timeout = 20s, .retry_interval = 1ms, .planned = [&](const Graph&, const auto& plans) {
         used = static_cast<int>(plan::workers_of(plans.front().plan()).size());
       }});
  const auto executable = *device->compile(graph_);
  EXPECT_EQ(used, 1);
  cluster_.start(1);
  EXPECT_TRUE(eventually([&] { return used == 2; }));
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
