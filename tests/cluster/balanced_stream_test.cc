// Stages that are moved while requests go through them.
#include "shoal/cluster/benchmarks/balanced_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "here.h"
#include "random_plan.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

// Lost workers are looked for when a test asks for it.
constexpr BalanceOptions kPatient{.retry_interval = 1h, .grace = 0ms};
constexpr BalanceOptions kSurviving{.survive = 1, .retry_interval = 1h, .grace = 0ms};

// The first worker has all nodes but as many as there are other workers.
std::vector<plan::Stage> lopsided_stages(const Graph& graph, int workers) {
  const size_t rest = graph.nodes().size() - static_cast<size_t>(workers) + 1;
  std::vector<plan::Stage> stages = {{{0, rest}, {0}}};
  for (int w = 1; w < workers; ++w) {
    const size_t at = rest + static_cast<size_t>(w) - 1;
    stages.push_back({{at, at + 1}, {w}});
  }
  return stages;
}

Graph many_layers() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 2, 8, 8}});
  for (int i = 0; i < 12; ++i) x = *graph.add(i % 2 == 0 ? ops::relu : ops::neg, {x});
  graph.mark_output(x);
  return graph;
}

// Clients that ask without a pause.
class Clients {
 public:
  Clients(BalancedStream& stream, const Graph& graph) {
    for (unsigned client = 0; client < 3; ++client) {
      threads_.emplace_back([&, client] {
        plan::Rng rng(client);
        while (!over_) {
          const std::vector<Tensor> inputs = {
              plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
          std::vector<Tensor> outputs(1);
          const Status status = stream.run(inputs, outputs, 60s);
          EXPECT_TRUE(status.ok()) << status.message();
          if (status.ok()) plan::expect_near(outputs, run_whole(graph, inputs));
          ++answered_;
          answered_.notify_all();
        }
      });
    }
  }
  ~Clients() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void await_more(int answers) {
    const int until = answered_ + answers;
    for (int now = answered_; now < until; now = answered_) answered_.wait(now);
  }

 private:
  std::atomic<bool> over_ = false;
  std::atomic<int> answered_ = 0;
  std::vector<std::thread> threads_;
};

TEST(BalancedStream, LosesNoRequestWhileStagesMove) {
  constexpr int kWorkers = 3;
  Cluster cluster(kWorkers);
  const Graph graph = many_layers();
  auto stream = BalancedStream::start(cluster.coordinator(), graph, slow_workers(kWorkers),
                                      lopsided_stages(graph, kWorkers), kPatient);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  int moves = 0;
  {
    Clients clients(**stream, graph);
    for (;;) {
      clients.await_more(5);
      EXPECT_FALSE((*stream)->reports().empty());
      // Not what they measured, which differs from run to run.
      const auto moved = (*stream)->balance({});
      ASSERT_TRUE(moved.ok()) << moved.status().message();
      if (!*moved) break;
      ++moves;
    }
    clients.await_more(5);
  }
  EXPECT_GT(moves, 0);
  EXPECT_LE(moves, 25);
}

class Settling : public testing::Test {
 protected:
  void SetUp() override {
    auto started = BalancedStream::start(cluster_.coordinator(), graph_, slow_workers(3),
                                         lopsided_stages(graph_, 3), kPatient);
    ASSERT_TRUE(started.ok()) << started.status().message();
    stream_ = *std::move(started);
  }

  Cluster cluster_{3};
  const Graph graph_ = many_layers();
  std::unique_ptr<BalancedStream> stream_;
  const std::vector<Tensor> inputs_ = {Tensor(graph_[graph_.inputs()[0]].type)};
  LoadGenerator load_{4, [this](size_t) {
                        std::vector<Tensor> outputs(1);
                        return stream_->run(inputs_, outputs, 60s);
                      }};
};

// How many moves there are depends on what workers measure, and differs from run to run.
TEST_F(Settling, MeasuresBeforeTheFirstMoveAndAfterEach) {
  const std::vector<plan::Stage> before = stream_->stages();
  const auto steps = settle(*stream_, load_);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_EQ(steps->front().move, "");
  if (steps->size() == 1) {
    EXPECT_EQ(stream_->stages(), before);
  }
  for (size_t i = 0; i < steps->size(); ++i) {
    EXPECT_GT((*steps)[i].seconds, 0);
    EXPECT_EQ((*steps)[i].move.empty(), i == 0);
  }
}

TEST_F(Settling, GivesPeriodsOfTheEmulatedWorld) {
  const auto steps = settle(*stream_, load_, 1e9);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  for (const BalanceStep& step : *steps) EXPECT_LT(step.seconds, 1e-6);
}

TEST_F(Settling, EndsWithTheFirstRequestThatFails) {
  for (size_t worker : {0u, 1u, 2u}) cluster_.worker(worker).stop();
  EXPECT_EQ(settle(*stream_, load_).status().code(), Code::kUnavailable);
}

bool has_stage(const BalancedStream& stream, int worker) {
  return std::ranges::any_of(stream.stages(), [&](const plan::Stage& stage) {
    return std::ranges::find(stage.workers, worker) != stage.workers.end();
  });
}

TEST_F(Settling, GoesOnWithoutAWorkerThatIsLost) {
  cluster_.worker(2).stop();
  const auto steps = settle(*stream_, load_);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  stream_->deployment().settle();
  EXPECT_FALSE(has_stage(*stream_, 2));
  cluster_.start(2);
  stream_->deployment().settle();
  EXPECT_TRUE(has_stage(*stream_, 2)) << "when it is back";
  EXPECT_TRUE(settle(*stream_, load_).ok());
}

// Every stage is computed by two workers: requests do not wait for a loss to be noticed.
TEST(BalancedStream, SurvivesLossesWhileStagesMove) {
  constexpr int kWorkers = 3;
  Cluster cluster(kWorkers);
  const Graph graph = many_layers();
  auto stream = BalancedStream::start(cluster.coordinator(), graph, slow_workers(kWorkers),
                                      lopsided_stages(graph, kWorkers), kSurviving);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  for (const plan::ScheduledPlan& turn : (*stream)->deployment().current()) {
    EXPECT_EQ(turn.plan().survives, 1);
  }
  {
    Clients clients(**stream, graph);
    clients.await_more(5);
    const auto moved = (*stream)->balance({});
    ASSERT_TRUE(moved.ok()) << moved.status().message();
    EXPECT_TRUE(*moved);
    cluster.worker(1).stop();
    clients.await_more(10);
    const auto again = (*stream)->balance({});
    EXPECT_TRUE(again.ok()) << again.status().message();
    clients.await_more(5);
  }
  EXPECT_EQ(cluster.coordinator().tally().replayed, 0u);
}

}  // namespace
}  // namespace shoal::cluster
