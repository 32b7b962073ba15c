// Many requests at once, by plans that they use in turn.
#include "shoal/cluster/stream_deployment.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "here.h"
#include "random_plan.h"
#include "shoal/base/notification.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

class Streams : public testing::Test {
 protected:
  Streams() {
    auto started = StreamDeployment::start(cluster_.coordinator(), [this](const Workers& set) {
      ++planned_;
      if (hold_) release_.wait();
      return make_plans(set);
    });
    EXPECT_TRUE(started.ok()) << started.status().message();
    stream_ = *std::move(started);
  }

  Result<plan::StreamPrediction> make_plans(const Workers& set) const {
    plan::StreamOptions options;
    for (int w = 0; w < 3; ++w) {
      if (!set.contains(w)) options.excluded.push_back(w);
    }
    SHOAL_ASSIGN(auto plans, plan::make_stream_plans(graph_, slow_workers(3), options));
    return std::move(plans.front());
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
  std::atomic<int> planned_ = 0;
  std::atomic<bool> hold_ = false;
  Notification release_;
  std::unique_ptr<StreamDeployment> stream_;
};

TEST_F(Streams, UseAllWorkersInTurn) {
  std::set<int> used;
  for (const plan::ScheduledPlan& turn : stream_->prediction().turns) {
    for (int worker : plan::workers_of(turn.plan())) used.insert(worker);
  }
  EXPECT_EQ(used, (std::set<int>{0, 1, 2}));
  EXPECT_GE(stream_->prediction().in_flight, 3u);
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
  const int planned = planned_;
  EXPECT_GE(planned, 2);
  for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(run(i).ok());
  EXPECT_EQ(planned_, planned) << "the plans leave out the worker that was lost";
}

// Planning takes as long as it takes; who waits for it has a deadline all the same.
TEST_F(Streams, KeepTheirDeadlineWhilePlansAreReplaced) {
  hold_ = true;
  cluster_.worker(1).stop();
  EXPECT_TRUE(eventually([&] { return cluster_.coordinator().lost().size() == 1; }));
  std::vector<std::thread> clients;
  std::atomic<int> late = 0;
  for (unsigned client = 0; client < 6; ++client) {
    clients.emplace_back([&, client] {
      const Code code = run(client, 100ms).code();
      EXPECT_TRUE(code == Code::kOk || code == Code::kDeadline);
      late += code == Code::kDeadline ? 1 : 0;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GT(late, 0) << "by turns, some of them need the worker that was lost";
  release_.notify();
  for (unsigned i = 0; i < 6; ++i) EXPECT_TRUE(run(i).ok());
}

TEST_F(Streams, FailWhereNoWorkerIsLeft) {
  for (size_t worker : {0u, 1u, 2u}) cluster_.worker(worker).stop();
  EXPECT_TRUE(eventually([&] { return cluster_.coordinator().lost().size() == 3; }));
  EXPECT_EQ(run(1).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::cluster
