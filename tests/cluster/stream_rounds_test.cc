// Many requests at once, by plans that they use in turn, on workers that come and go.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

class Streams : public testing::Test {
 protected:
  Streams() {
    auto started =
        FailoverDeployment::start(cluster_.coordinator(), {.plan =
                                                               [this](const Workers& set) {
                                                                 may_plan_.wait(false);
                                                                 ++planned_;
                                                                 return make_plans(set);
                                                               },
                                                           .retry_interval = 1h});
    EXPECT_TRUE(started.ok()) << started.status().message();
    stream_ = *std::move(started);
  }

  Result<Turns> make_plans(const Workers& set) const {
    plan::StreamOptions options;
    for (int w = 0; w < 3; ++w) {
      if (!set.contains(w)) options.excluded.push_back(w);
    }
    SHOAL_ASSIGN(auto plans, plan::make_stream_plans(graph_, slow_workers(3), options));
    return std::move(plans.front().turns);
  }

  // The workers that take part in any turn now.
  Workers used() const {
    Workers used;
    for (const plan::ScheduledPlan& turn : stream_->current()) {
      for (int worker : plan::workers_of(turn.plan())) used.insert(worker);
    }
    return used;
  }

  Status run(unsigned seed, std::chrono::milliseconds timeout = 60s) {
    plan::Rng rng(seed);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph_[graph_.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = stream_->run(inputs, outputs, timeout);
    if (status.ok()) plan::expect_near(outputs, run_whole(graph_, inputs));
    return status;
  }

  Cluster cluster_{3};
  const Graph graph_ = wide_layers();
  std::atomic<bool> may_plan_ = true;
  std::atomic<int> planned_ = 0;
  std::unique_ptr<FailoverDeployment> stream_;
};

TEST_F(Streams, UseAllWorkersInTurn) {
  EXPECT_GT(stream_->first().size(), 1u);
  EXPECT_EQ(used(), (Workers{0, 1, 2}));
  for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(run(i).ok());
}

TEST_F(Streams, AnswerManyRequestsAtOnceAfterALoss) {
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (unsigned client = 0; client < 4; ++client) {
    clients.emplace_back([&, client] {
      for (unsigned i = 0; i < 12; ++i) {
        const Status status = run(100 * client + i);
        EXPECT_TRUE(status.ok()) << status.message();
        ++answered;
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return answered >= 8; }));
  cluster_.worker(1).stop();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 48);
  stream_->settle();
  const int planned = planned_;
  EXPECT_GE(planned, 2);
  EXPECT_EQ(used(), (Workers{0, 2}));
  for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(run(i).ok());
  EXPECT_EQ(planned_, planned) << "the plans leave out the worker that was lost";
}

// The turns of others go on while nothing can be planned.
TEST_F(Streams, GoOnByTheTurnsThatAreLeft) {
  ASSERT_EQ(stream_->first().size(), 3u) << "or this says nothing: replicas are expected";
  may_plan_ = false;
  cluster_.worker(1).stop();
  for (unsigned i = 0; i < 9; ++i) {
    const Status status = run(i);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  may_plan_ = true;
  may_plan_.notify_all();
}

TEST_F(Streams, UseAWorkerThatIsBack) {
  cluster_.worker(2).stop();
  EXPECT_TRUE(eventually([&] { return !cluster_.coordinator().lost().empty(); }));
  stream_->settle();
  EXPECT_EQ(used(), (Workers{0, 1}));
  cluster_.start(2);
  stream_->settle();
  EXPECT_EQ(used(), (Workers{0, 1, 2}));
  for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(run(i).ok());
}

TEST_F(Streams, FailWhereNoWorkerIsLeft) {
  for (size_t worker : {0u, 1u, 2u}) cluster_.worker(worker).stop();
  EXPECT_TRUE(eventually([&] { return cluster_.coordinator().lost().size() == 3; }));
  EXPECT_EQ(run(1).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::cluster
