// How a coordinator connects, and its knowledge of its workers.
#include "shoal/cluster/coordinator/runtime/coordinator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "here.h"
#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/messages/message_io.h"
#include "unhurried.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

ListedWorker listed(int worker) { return {address_of(worker), address_of(worker)}; }

// A network on which some addresses do not answer. Whoever calls one waits until all of them have
// been called.
class PartlyDeaf final : public net::Transport {
 public:
  PartlyDeaf(net::Transport& others, std::ptrdiff_t absent) : others_(others), called_(absent) {}

  Result<std::shared_ptr<net::Channel>> connect(std::string_view address,
                                                net::Deadline deadline) override {
    if (!address.starts_with("absent")) return others_.connect(address, deadline);
    called_.count_down();
    if (eventually([&] { return called_.try_wait(); })) {
      return Status(Code::kDeadline, "it does not answer");
    }
    return Status(Code::kInternal, "the others are not called while this one does not answer");
  }
  Result<std::unique_ptr<net::Listener>> listen(std::string_view address) override {
    return others_.listen(address);
  }

 private:
  net::Transport& others_;
  std::latch called_;
};

class Connecting : public testing::Test {
 protected:
  Connecting()
      : cluster_(2), own_(cluster_.network().transport("another coordinator", unhurried())) {}

  Cluster cluster_;
  std::unique_ptr<net::Transport> own_;
};

TEST_F(Connecting, WaitsForAllAbsentWorkersAtTheSameTime) {
  PartlyDeaf network(*own_, 3);
  const std::vector<ListedWorker> workers = {
      {"hall", "absent-0"}, listed(0), {"attic", "absent-1"}, listed(1), {"cellar", "absent-2"}};
  const auto made = Coordinator::connect(workers, network, {.partial = true});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::vector<WorkerInfo> all = (*made)->workers();
  ASSERT_EQ(all.size(), 5u) << "who is absent has a number, too";
  for (size_t w = 0; w < all.size(); ++w) EXPECT_EQ(all[w].name, workers[w].name);
  EXPECT_EQ((*made)->lost(), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ((*made)->present(), (Workers{1, 3}));
  const std::vector<Status>& missing = (*made)->missing();
  ASSERT_EQ(missing.size(), 3u);
  for (size_t i = 0; i < missing.size(); ++i) {
    EXPECT_EQ(missing[i].code(), Code::kDeadline) << missing[i].message();
    const std::string name = std::vector{"hall", "attic", "cellar"}[i];
    EXPECT_NE(missing[i].message().find("worker " + name), std::string_view::npos);
  }
}

TEST_F(Connecting, FailsWithTheFirstThatIsMissing) {
  const std::vector<ListedWorker> workers = {listed(0), {"hall", "nowhere"}, {"attic", "nowhere"}};
  const Status status = Coordinator::connect(workers, *own_).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("worker hall"), std::string_view::npos) << status.message();
}

TEST_F(Connecting, FailsWhereNobodyAnswers) {
  const std::vector<ListedWorker> workers = {{"hall", "nowhere"}};
  EXPECT_EQ(Coordinator::connect(workers, *own_, {.partial = true}).status().code(),
            Code::kUnavailable);
}

TEST_F(Connecting, LeavesOutAWorkerOfAnotherName) {
  const std::vector<ListedWorker> workers = {{"hall", address_of(0)}, listed(1)};
  const auto made = Coordinator::connect(workers, *own_, {.partial = true});
  ASSERT_TRUE(made.ok()) << made.status().message();
  ASSERT_EQ((*made)->missing().size(), 1u);
  const std::string_view why = (*made)->missing()[0].message();
  EXPECT_NE(why.find("worker-0 is worker-0, not hall"), std::string_view::npos) << why;
}

TEST_F(Connecting, RevivesAWorkerThatNeverAnswered) {
  cluster_.worker(1).stop();
  const auto made =
      Coordinator::connect(std::vector{listed(0), listed(1)}, *own_, {.partial = true});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE((*made)->revive(1).ok());
  EXPECT_EQ((*made)->revive_lost(), 0u);
  cluster_.start(1);
  EXPECT_EQ((*made)->revive_lost(), 1u);
  EXPECT_TRUE((*made)->lost().empty());
}

TEST_F(Connecting, AsksHowBusyWorkersAre) {
  cluster_.worker(1).stop();
  const auto made =
      Coordinator::connect(std::vector{listed(0), listed(1)}, *own_, {.partial = true});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE((*made)->workers()[0].slowdown);
  (*made)->ask_for_load();
  EXPECT_TRUE(eventually([&] { return (*made)->workers()[0].slowdown.has_value(); }));
  EXPECT_GE(*(*made)->workers()[0].slowdown, 1);
  EXPECT_FALSE((*made)->workers()[1].slowdown) << "it is not there";
}

// Answers every Hello, and counts them.
class Counting {
 public:
  explicit Counting(net::LoopbackNetwork& network)
      : transport_(network.transport("counting", unhurried())),
        listener_(*transport_->listen("counting")),
        thread_([this] { serve(); }) {}
  ~Counting() {
    listener_->close();
    thread_.join();
  }
  int hellos() const { return hellos_; }

 private:
  void serve() {
    const auto channel = listener_->accept(net::Deadline::max());
    if (!channel.ok()) return;
    for (;;) {
      const auto frame = (*channel)->receive(net::Deadline::max());
      message::Message message, reply;
      if (!frame.ok() || !parse(*frame, message).ok()) return;
      if (message.has_hello()) ++hellos_;
      reply.mutable_welcome()->set_version(kProtocolVersion);
      EXPECT_TRUE(send(**channel, reply).ok());
    }
  }

  std::unique_ptr<net::Transport> transport_;
  std::unique_ptr<net::Listener> listener_;
  std::atomic<int> hellos_ = 0;
  std::thread thread_;
};

TEST(Coordinator, GreetsAWorkerOnce) {
  net::LoopbackNetwork network;
  const auto transport = network.transport("coordinator", unhurried());
  Counting worker(network);
  const std::vector<ListedWorker> workers = {{"counting", "counting"}};
  ASSERT_TRUE(Coordinator::connect(workers, *transport).ok());
  EXPECT_EQ(worker.hellos(), 1);
}

// All of a small model on one worker.
class OnOne {
 public:
  OnOne(Coordinator& coordinator, int worker) : graph_(wide_layers()) {
    const plan::NodeRange all{0, graph_.nodes().size()};
    plan::Plan plan;
    plan.segments.push_back({all, "", {{worker, plan::whole_pieces(graph_, all)}}});
    auto deployed = coordinator.deploy(graph_, plan);
    EXPECT_TRUE(deployed.ok()) << deployed.status().message();
    remote_ = *std::move(deployed);
  }
  Status run() {
    plan::Rng rng(1);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph_[graph_.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    return remote_->run(inputs, outputs, 20s);
  }

 private:
  const Graph graph_;
  std::unique_ptr<RemotePlan> remote_;
};

// Several deployments look for a lost worker, each on its own thread. The second to find it must
// not take away what the first has deployed there.
TEST(Coordinator, LeavesAWorkerThatIsThereAsItIsWhenReviving) {
  Cluster cluster(2);
  OnOne plan(cluster.coordinator(), 1);
  EXPECT_TRUE(cluster.coordinator().revive(1).ok());
  const Status status = plan.run();
  EXPECT_TRUE(status.ok()) << status.message();
}

// Several deployments are woken by one loss. The second must not replace the connection by which
// the first has deployed: the worker would drop that plan unnoticed.
TEST(Coordinator, KeepsWhatWasDeployedWhileOthersRevive) {
  Cluster cluster(2);
  Coordinator& coordinator = cluster.coordinator();
  for (int round = 0; round < 10; ++round) {
    cluster.worker(1).stop();
    ASSERT_TRUE(eventually([&] { return !coordinator.lost().empty(); }));
    cluster.start(1);
    std::vector<std::thread> deployments;
    for (int i = 0; i < 4; ++i) {
      deployments.emplace_back([&, i] {
        EXPECT_TRUE(i % 2 == 0 ? coordinator.revive(1).ok() : coordinator.revive_lost() <= 1);
        const Status status = OnOne(coordinator, 1).run();
        EXPECT_TRUE(status.ok()) << status.message();
      });
    }
    for (std::thread& deployment : deployments) deployment.join();
  }
}

// For ThreadSanitizer: facts about a worker are written when it is revived, while others read.
TEST(Coordinator, TellsOfItsWorkersWhileTheyAreRevived) {
  Cluster cluster(2);
  Coordinator& coordinator = cluster.coordinator();
  std::atomic<bool> over = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!over) {
        for (const WorkerInfo& info : coordinator.workers()) EXPECT_FALSE(info.name.empty());
        static_cast<void>(coordinator.traffic());
        static_cast<void>(coordinator.lost());
        EXPECT_TRUE(OnOne(coordinator, 0).run().ok());
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    cluster.worker(1).stop();
    EXPECT_TRUE(eventually([&] { return !coordinator.lost().empty(); }));
    cluster.start(1);
    EXPECT_TRUE(coordinator.revive(1).ok());
    EXPECT_TRUE(coordinator.lost().empty());
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace shoal::cluster
