// Models on workers that come and go, in one process.
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/net/peers_testing.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

// Answers by a model on all workers of a cluster, with a plan for every loss.
class Served {
 public:
  explicit Served(Coordinator& coordinator, std::chrono::milliseconds grace = 0ms)
      : coordinator_(coordinator), graph_(wide_layers()) {
    auto started = FailoverDeployment::start(
        coordinator, {.plan = one_turn([this](const Workers& set) { return plan(set); }),
                      .standby = true,
                      .retry_interval = 1h,
                      .grace = grace});
    EXPECT_TRUE(started.ok()) << started.status().message();
    failover_ = *std::move(started);
  }

  Status run() {
    plan::Rng rng(11);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph_[graph_.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = failover_->run(inputs, outputs, 20s);
    if (status.ok()) plan::expect_near(outputs, run_whole(graph_, inputs));
    return status;
  }

  // Whoever plans waits until it is allowed again.
  void allow_planning(bool allowed) {
    may_plan_ = allowed;
    may_plan_.notify_all();
  }

  void await_planned(int count) const {
    EXPECT_TRUE(eventually([&] { return planned_ >= count; })) << planned_ << " plans were made";
  }

  // Whether the plan that requests use first does.
  bool uses(int worker) const {
    const std::vector<int> used = plan::workers_of(failover_->current().front().plan());
    return std::ranges::find(used, worker) != used.end();
  }

  FailoverDeployment& failover() { return *failover_; }
  int planned() const { return planned_; }

 private:
  Result<plan::Prediction> plan(const Workers& set) {
    may_plan_.wait(false);
    ++planned_;
    return plan::make_plan_for(set, graph_, slow_workers(coordinator_.worker_count()), {});
  }

  Coordinator& coordinator_;
  const Graph graph_;
  std::atomic<bool> may_plan_ = true;
  std::atomic<int> planned_ = 0;
  std::unique_ptr<FailoverDeployment> failover_;
};

TEST(FailoverDeployment, PlansForAllAndForEachLoss) {
  EXPECT_EQ(sets_to_plan_for({0, 2, 5}, true),
            (std::vector<Workers>{{0, 2, 5}, {2, 5}, {0, 5}, {0, 2}}));
  EXPECT_EQ(sets_to_plan_for({0, 2, 5}, false), (std::vector<Workers>{{0, 2, 5}}));
  EXPECT_EQ(sets_to_plan_for({3}, true), (std::vector<Workers>{{3}}));
  EXPECT_TRUE(sets_to_plan_for({}, true).empty());
}

TEST(FailoverDeployment, PlansAheadForWhoAsksAgain) {
  Cluster cluster(3);
  Served served(cluster.coordinator());
  EXPECT_TRUE(served.run().ok());
  EXPECT_EQ(served.planned(), 1);
  EXPECT_TRUE(served.run().ok());
  served.await_planned(4);
}

TEST(FailoverDeployment, SwitchesWithoutPlanning) {
  Cluster cluster(3);
  Served served(cluster.coordinator());
  served.failover().settle();
  EXPECT_EQ(served.failover().deployed(), 4u);
  EXPECT_TRUE(served.run().ok());
  served.allow_planning(false);
  cluster.worker(1).stop();
  for (int i = 0; i < 3; ++i) {
    const Status status = served.run();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_EQ(served.planned(), 4);
  served.allow_planning(true);
}

TEST(FailoverDeployment, OutlivesLossAfterLoss) {
  Cluster cluster(4);
  Served served(cluster.coordinator());
  for (size_t worker : {2u, 0u, 3u}) {
    served.failover().settle();
    cluster.worker(worker).stop();
    const Status status = served.run();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  cluster.worker(1).stop();
  const Status last = served.run();
  EXPECT_EQ(last.code(), Code::kUnavailable) << last.message();
}

TEST(FailoverDeployment, FoldsInWhoComesBackWithoutPlanning) {
  Cluster cluster(3);
  Served served(cluster.coordinator());
  served.failover().settle();
  for (size_t worker : {0u, 2u, 0u}) {
    cluster.worker(worker).stop();
    EXPECT_TRUE(served.run().ok());
    served.failover().settle();
    EXPECT_EQ(cluster.coordinator().lost().size(), 1u);
    const int planned = served.planned();
    cluster.start(worker);
    served.failover().settle();
    EXPECT_TRUE(cluster.coordinator().lost().empty());
    EXPECT_EQ(served.failover().deployed(), 4u);
    EXPECT_EQ(served.planned(), planned);
    EXPECT_TRUE(served.run().ok());
  }
}

// While it is expected back, no plan is made for fewer workers, and it gets back its plan: the
// others are not deployed to.
TEST(FailoverDeployment, RestoresWhoIsExpectedBack) {
  Cluster cluster(3);
  Served served(cluster.coordinator(), 1h);
  served.failover().settle();
  served.allow_planning(false);
  for (size_t worker : {1u, 1u, 2u}) {
    cluster.worker(worker).stop();
    ASSERT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
    EXPECT_TRUE(served.run().ok());
    cluster.start(worker);
    served.failover().settle();
    EXPECT_TRUE(cluster.coordinator().lost().empty());
    EXPECT_EQ(served.failover().deployed(), 4u);
    EXPECT_TRUE(served.run().ok());
  }
  EXPECT_EQ(served.planned(), 4);
  served.allow_planning(true);
}

// One that asks without a pause.
class Caller {
 public:
  explicit Caller(Served& served)
      : thread_([this, &served] {
          while (!over_) {
            const Status status = served.run();
            EXPECT_TRUE(status.ok()) << status.message();
            ++answers_;
          }
        }) {}
  ~Caller() {
    over_ = true;
    thread_.join();
  }

  // The request that is on its way now, however slow this machine is, has been answered.
  void await_answer() const {
    const int now = answers_;
    EXPECT_TRUE(eventually([&] { return answers_ != now; })) << "no answer comes";
  }

 private:
  std::atomic<bool> over_ = false;
  std::atomic<int> answers_ = 0;
  std::thread thread_;  // uses the rest
};

// A request that two losses hit one after the other may fail; no request here meets two.
TEST(FailoverDeployment, LosesNoRequestWhileWorkersComeAndGo) {
  Cluster cluster(3);
  Served served(cluster.coordinator());
  const Caller one(served), other(served);
  for (size_t round = 0; round < 6; ++round) {
    served.failover().settle();
    cluster.worker(round % 3).stop();
    one.await_answer();
    other.await_answer();
    served.failover().settle();
    cluster.start(round % 3);
  }
}

// A worker that was off at the start is looked for, and used when it comes.
TEST(FailoverDeployment, UsesWhoWasNotThereAtTheStart) {
  Cluster cluster(3);
  cluster.worker(1).stop();
  const auto coordinator = cluster.connect({.partial = true});
  ASSERT_TRUE(coordinator.ok()) << coordinator.status().message();
  EXPECT_EQ((*coordinator)->worker_count(), 3u);
  EXPECT_EQ((*coordinator)->lost(), std::vector<int>{1});
  Served served(**coordinator);
  EXPECT_TRUE(served.run().ok());
  EXPECT_FALSE(served.uses(1));
  cluster.start(1);
  served.failover().settle();
  EXPECT_TRUE((*coordinator)->lost().empty());
  EXPECT_TRUE(served.uses(1));
  EXPECT_TRUE(served.run().ok());
}

// Requests go on by the old plan until the new one is there.
TEST(FailoverDeployment, MakesPlansAgain) {
  Cluster cluster(3);
  Served served(cluster.coordinator());
  served.failover().settle();
  const int planned = served.planned();
  const size_t changes = served.failover().changes();
  {
    const Caller caller(served);
    served.allow_planning(false);
    served.failover().replan();
    caller.await_answer();
    EXPECT_EQ(served.failover().changes(), changes);
    served.allow_planning(true);
    served.failover().settle();
    caller.await_answer();
  }
  EXPECT_GT(served.planned(), planned);
  EXPECT_GT(served.failover().changes(), changes);
  EXPECT_EQ(served.failover().deployed(), 4u) << "the old ones are retired";
}

TEST(FailoverDeployment, MakesPlansAgainWhenTheyAreOutdated) {
  Cluster cluster(2);
  const Graph graph = wide_layers();
  std::atomic<bool> is_outdated = false;
  std::atomic<int> planned = 0;
  auto failover = FailoverDeployment::start(
      cluster.coordinator(), {.plan = one_turn([&](const Workers& set) {
                                ++planned;
                                return plan::make_plan_for(set, graph, slow_workers(2), {});
                              }),
                              .retry_interval = 1ms,
                              .is_outdated = [&] { return is_outdated.exchange(false); }});
  ASSERT_TRUE(failover.ok()) << failover.status().message();
  EXPECT_EQ(planned, 1);
  is_outdated = true;
  EXPECT_TRUE(eventually([&] { return planned == 2; }));
  EXPECT_TRUE(eventually([&] { return (*failover)->changes() == 2; }));
}

// Compiles nothing while it is held up.
class HeldUp final : public Device {
 public:
  explicit HeldUp(std::atomic<bool>& is_held_up) : is_held_up_(is_held_up) {}
  const DeviceInfo& info() const override { return inner_->info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    is_held_up_.wait(true);
    return inner_->compile(graph);
  }

 private:
  const std::unique_ptr<Device> inner_ = make_reference_device();
  std::atomic<bool>& is_held_up_;
};

// The worker is never lost, so that its return is no news.
TEST(FailoverDeployment, TriesAgainWithAWorkerThatWasTooSlow) {
  std::atomic<bool> is_held_up = false;
  CoordinatorOptions impatient;
  impatient.deploy.progress_timeout = 200ms;
  Cluster cluster(2, nullptr, impatient, [&](int) { return std::make_unique<HeldUp>(is_held_up); });
  std::atomic<int> layers = 1;
  const auto plan = [&](const Workers& set) {
    Graph graph;
    ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 48, 48}});
    for (int i = 0; i < layers; ++i) x = *graph.add(ops::relu, {x});
    graph.mark_output(x);
    return plan::make_plan_for(set, graph, slow_workers(2), {});
  };
  std::unique_ptr<FailoverDeployment> failover;
  // More than once, if this machine is too slow itself.
  ASSERT_TRUE(eventually([&] {
    auto started = FailoverDeployment::start(cluster.coordinator(),
                                             {.plan = one_turn(plan), .retry_interval = 1h});
    if (started.ok()) failover = *std::move(started);
    return failover != nullptr;
  }));
  layers = 2;  // which no worker has compiled before
  is_held_up = true;
  failover->replan();
  failover->settle();
  EXPECT_EQ(failover->changes(), 1u);
  is_held_up = false;
  is_held_up.notify_all();
  EXPECT_TRUE(eventually([&] {
    failover->settle();
    return failover->changes() == 2;
  }));
}

TEST(FailoverPolicy, PrefersPlansThatAreNotOutOfDate) {
  FailoverPolicy policy(false);
  const auto whole = [](uint64_t) { return true; };
  policy.add({0, 1, 2}, 7, {0, 1, 2});
  EXPECT_FALSE(policy.next({0, 1, 2}, whole));
  policy.outdate();
  EXPECT_EQ(policy.next({0, 1, 2}, whole), (Workers{0, 1, 2}));
  EXPECT_TRUE(policy.retire({0, 1, 2}, whole).empty()) << "there is no other yet";
  policy.add({0, 1}, 8, {0, 1});
  EXPECT_EQ(policy.order(), (std::vector<uint64_t>{8, 7}));
  policy.add({0, 1, 2}, 9, {0, 1, 2});
  EXPECT_EQ(policy.order(), (std::vector<uint64_t>{9, 8, 7}));
  EXPECT_EQ(policy.retire({0, 1, 2}, whole), (std::vector<uint64_t>{8, 7}));
}

TEST(Epochs, OfTheLatestCoordinatorCount) {
  Cluster cluster(2, nullptr, {.epoch = 5});
  auto stale = cluster.connect({.epoch = 4});
  ASSERT_FALSE(stale.ok());
  const std::string_view why = stale.status().message();
  EXPECT_NE(why.find("epoch 4 is out of date"), std::string_view::npos) << why;
  EXPECT_NE(why.find("coordinator of epoch 5 is in charge"), std::string_view::npos) << why;
  EXPECT_TRUE(cluster.connect({}).ok()) << "who is not in charge alone may share";
  EXPECT_TRUE(cluster.coordinator().lost().empty());
}

// Who was in charge before learns it by losing its workers, and cannot get them back.
TEST(Epochs, OfALaterCoordinatorTakeOver) {
  Cluster cluster(2, nullptr, {.epoch = 5});
  Served before(cluster.coordinator());
  EXPECT_TRUE(before.run().ok());
  auto later = cluster.connect({.epoch = 6});
  ASSERT_TRUE(later.ok()) << later.status().message();
  EXPECT_EQ(before.run().code(), Code::kUnavailable);
  EXPECT_FALSE(cluster.coordinator().revive(0).ok());
  Served after(**later);
  EXPECT_TRUE(after.run().ok());
}

// A worker that was started again since knows the later coordinator from its folder only.
TEST(Epochs, AreKeptByWorkersThatAreStartedAgain) {
  const net::TestFolder folder;
  const auto kept = [&] { return *EpochFile::open(folder.path() / "epoch"); };
  Cluster cluster(1);
  cluster.start(0, {.epochs = kept()});
  EXPECT_TRUE(cluster.connect({.epoch = 5}).ok());
  cluster.start(0, {.epochs = kept()});
  const Status stale = cluster.connect({.epoch = 4}).status();
  EXPECT_NE(stale.message().find("coordinator of epoch 5 is in charge"), std::string_view::npos)
      << stale.message();
  EXPECT_TRUE(cluster.connect({.epoch = 6}).ok());
}

// Two copies of a folder, or one that was restored from a backup, count to the same number.
TEST(Epochs, OfTwoCoordinatorsThatAreEqualAreToldApart) {
  Cluster cluster(2, nullptr, {.epoch = 5});
  uint64_t named = 0;
  std::mutex mutex;
  const Status other = cluster
                           .connect({.epoch = 5,
                                     .outranked =
                                         [&](uint64_t latest) {
                                           const std::lock_guard lock(mutex);
                                           named = latest;
                                         }})
                           .status();
  EXPECT_EQ(other.code(), Code::kInvalidArgument);
  EXPECT_NE(other.message().find("is in charge in epoch 5, too"), std::string_view::npos)
      << other.message();
  EXPECT_EQ(named, 5u) << "so that it can go beyond";
  // The first coordinator reconnects at any time.
  cluster.start(0);
  EXPECT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
  EXPECT_TRUE(cluster.coordinator().revive(0).ok());
}

TEST(Epochs, AreClaimedByNumberAndNonce) {
  const Epoch latest{5, "hall", 77};
  EXPECT_TRUE(check_claim(latest, {5, "hall", 77}).ok());
  EXPECT_TRUE(check_claim(latest, {6, "attic", 1}).ok());
  EXPECT_FALSE(check_claim(latest, {5, "hall", 78}).ok());
  EXPECT_FALSE(check_claim(latest, {4, "hall", 77}).ok());
  EXPECT_TRUE(check_claim({5, "hall", 0}, {5, "hall", 78}).ok()) << "an old file has no nonce";
  EXPECT_TRUE(check_claim(latest, {5 + kMostEpochsAhead, "hall", 1}).ok());
  EXPECT_FALSE(check_claim(latest, {6 + kMostEpochsAhead, "hall", 1}).ok());
  EXPECT_FALSE(check_claim(latest, {UINT64_MAX, "hall", 1}).ok());
}

}  // namespace
}  // namespace shoal::cluster
