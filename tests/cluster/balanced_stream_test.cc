// Stages that are moved while requests go through them.
#include "shoal/cluster/balanced_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "here.h"
#include "random_plan.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

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
                                      lopsided_stages(graph, kWorkers));
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

TEST(BalancedStream, KeepsItsStagesWhereNewOnesCannotBeDeployed) {
  constexpr int kWorkers = 2;
  Cluster cluster(kWorkers);
  const Graph graph = many_layers();
  auto stream = BalancedStream::start(cluster.coordinator(), graph, slow_workers(kWorkers),
                                      lopsided_stages(graph, kWorkers));
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  const std::vector<plan::Stage> before = (*stream)->stages();
  cluster.worker(1).stop();
  const auto moved = (*stream)->balance({});
  EXPECT_EQ(moved.status().code(), Code::kUnavailable) << moved.status().message();
  EXPECT_EQ((*stream)->stages(), before);
}

}  // namespace
}  // namespace shoal::cluster
