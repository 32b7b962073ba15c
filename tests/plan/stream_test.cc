// Plans for streams: the same answers, as often as can be.
#include "shoal/plan/stream/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/cuts.h"
#include "shoal/plan/stream/round_robin.h"
#include "shoal/plan/stream/stages.h"

namespace shoal::plan {
namespace {

// Workers that differ, with links that are never in the way.
ClusterProfile unlike_workers(Rng& rng, int workers) {
  ClusterProfile cluster;
  for (int w = 0; w < workers; ++w) {
    const auto speed = static_cast<double>(draw(rng, 1, 10));
    cluster.workers.push_back(uniform_worker("", 1e6 * speed, 1e8 * speed));
    cluster.links.emplace_back();
  }
  return cluster;
}

double seconds_of_nodes(const Graph& graph, const ClusterProfile& cluster, int worker,
                        NodeRange nodes) {
  double seconds = 0;
  for (size_t i = nodes.begin; i < nodes.end; ++i) {
    const NodeRange one{i, i + 1};
    const auto part = make_part(graph, one, whole_pieces(graph, one));
    seconds += seconds_of(graph, *part, cluster.workers[static_cast<size_t>(worker)]);
  }
  return seconds;
}

double period_of(const Graph& graph, const ClusterProfile& cluster, const Stage& stage) {
  double rate = 0;
  for (int worker : stage.workers) {
    rate += 1 / seconds_of_nodes(graph, cluster, worker, stage.nodes);
  }
  return 1 / rate;
}

// The least period of all ways to give the nodes from a cut on to the workers from one on.
double least_period(const Graph& graph, const ClusterProfile& cluster,
                    const std::vector<size_t>& cuts, size_t cut, size_t worker, size_t stages) {
  if (stages == 0) return cut + 1 == cuts.size() ? 0 : 1e18;
  double least = 1e18;
  for (size_t end = cut + 1; end < cuts.size(); ++end) {
    Stage stage{{cuts[cut], cuts[end]}, {}};
    for (size_t last = worker; last < cluster.workers.size(); ++last) {
      stage.workers.push_back(static_cast<int>(last));
      const double rest = least_period(graph, cluster, cuts, end, last + 1, stages - 1);
      least = std::min(least, std::max(period_of(graph, cluster, stage), rest));
    }
  }
  return least;
}

TEST(Stages, AreTheBestThereAre) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    const int workers = static_cast<int>(draw(rng, 2, 5));
    const ClusterProfile cluster = unlike_workers(rng, workers);
    const auto count = static_cast<size_t>(draw(rng, 1, 3));
    const std::vector<size_t> cuts = find_cuts(graph, 2);
    std::vector<int> all;
    for (int w = 0; w < workers; ++w) all.push_back(w);
    const auto stages = StageFinder(graph, cluster, all).best(count, all.size());
    const double least = least_period(graph, cluster, cuts, 0, 0, count);
    ASSERT_EQ(stages.has_value(), least < 1e17);
    if (!stages) continue;
    double period = 0;
    for (const Stage& stage : *stages) {
      period = std::max(period, period_of(graph, cluster, stage));
    }
    EXPECT_NEAR(period, least, 1e-9 * least);
  }
}

// Two-stream recognition with a temporal pyramid of 15 ranges [Hadidi 2021, 4.5], half as wide: a
// frame and the flow of ten of them go through three convolutions each, and their features with
// those of frames before, for which copies stand, through three full layers.
std::string convolutions(const std::string& from, const std::string& name, int channels) {
  const std::string n = name;
  return "const " + n + "w1 f32[128," + std::to_string(channels) + ",5,5] = zeros\nconst " + n +
         "w2 f32[128,128,3,3] = zeros\nconst " + n + "w3 f32[128,128,3,3] = zeros\n" + n +
         "1 = Conv(" + from + ", " + n + "w1) pads=[2,2,2,2]\n" + n + "2 = Conv(" + n + "1, " + n +
         "w2) pads=[1,1,1,1]\n" + n + "3 = Conv(" + n + "2, " + n + "w3) pads=[1,1,1,1]\n" + n +
         "4 = GlobalMaxPool(" + n + "3)\n" + n + "5 = Flatten(" + n + "4)\n";
}

Graph two_stream_graph() {
  std::string ranges;
  for (int i = 0; i < 15; ++i) ranges += std::string(i > 0 ? ", " : "") + "s5, t5";
  const std::string text =
      "input frame f32[1,3,12,16]\ninput flow f32[1,20,12,16]\n" + convolutions("frame", "s", 3) +
      convolutions("flow", "t", 20) +
      "const f1 f32[3840,1024] = zeros\nconst f2 f32[1024,1024] = zeros\n"
      "const f3 f32[1024,51] = zeros\npyramid = Concat(" +
      ranges +
      ") axis=1\nh1 = MatMul(pyramid, f1)\nr1 = Relu(h1)\nh2 = MatMul(r1, f2)\nr2 = Relu(h2)\n"
      "y = MatMul(r2, f3)\noutput y\n";
  return *parse_text(text, ops::find);
}

TEST(Stream, OfTwoStreamRecognitionGrowsAsPredicted) {  // [Hadidi 2021, 4.5]
  const Graph graph = two_stream_graph();
  double last = 0, last_latency = 0;
  for (const size_t workers : {5u, 8u, 10u, 12u}) {
    const ClusterProfile cluster =
        uniform_cluster(workers, *find_device("pi3"), *find_link("gigabit"));
    std::vector<int> all;
    for (size_t w = 0; w < workers; ++w) all.push_back(static_cast<int>(w));
    const auto plans = make_stream_plans(graph, cluster);
    ASSERT_TRUE(plans.ok());
    // Predicted: the slowest of the best stages sets the pace. Then in virtual time.
    const StageFinder finder(graph, cluster, all);
    double period = 1e18;
    std::vector<Stage> best;
    for (size_t count = 1; count <= workers; ++count) {
      const auto stages = finder.best(count, workers);
      if (!stages) continue;
      double slowest = 0;
      for (const Stage& stage : *stages) {
        slowest = std::max(slowest, period_of(graph, cluster, stage));
      }
      if (slowest >= period) continue;
      period = slowest;
      best = *stages;
    }
    const auto turns = make_round_robin(graph, cluster, best);
    ASSERT_TRUE(turns.ok());
    const Stream stream = simulate_stream(*turns, cluster, 40 * workers, 3 * workers);
    EXPECT_NEAR(stream.requests_per_second() * period, 1, 0.1) << workers;
    EXPECT_GE(plans->front().requests_per_second(), 0.9 / period) << workers;
    EXPECT_GT(stream.requests_per_second(), last) << workers;
    last = stream.requests_per_second();
    const double latency = simulate_stream(*turns, cluster, 1, 1).latencies[0];
    EXPECT_GE(latency, 0.999 * last_latency) << workers;
    last_latency = latency;
  }
}

TEST(Stream, EveryTurnGivesTheAnswer) {
  const auto device = make_cpu_device({.threads = 1});
  Rng rng(1);
  const ClusterProfile cluster = unlike_workers(rng, 3);
  for (const char* model : {"lenet5", "encoder"}) {
    const Graph graph = *passes::optimize(*zoo::build(model));
    const std::vector<Tensor> inputs = {random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    const auto plans = make_stream_plans(graph, cluster);
    ASSERT_TRUE(plans.ok());
    for (const StreamPrediction& made : *plans) {
      SCOPED_TRACE(std::string(model) + ": " + made.name);
      const size_t turns = std::min<size_t>(made.turns.size(), 3);
      for (size_t t = 0; t < turns; ++t) {
        expect_near(run_here(graph, made.turns[t].plan(), *device, inputs), want);
      }
    }
  }
}

// No stream is faster than all workers computing all the time; with free links, replicas come near.
TEST(Stream, UsesWhatWorkersCanDo) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const ClusterProfile cluster = unlike_workers(rng, 4);
    double most = 0;
    for (int w = 0; w < 4; ++w) {
      most += 1 / seconds_of(graph, whole_part(graph), cluster.workers[static_cast<size_t>(w)]);
    }
    const auto plans = make_stream_plans(graph, cluster);
    ASSERT_TRUE(plans.ok());
    EXPECT_GT(plans->front().requests_per_second(), 0.85 * most);
    for (const StreamPrediction& made : *plans) {
      const double all_the_time =
          static_cast<double>(made.stream.answered.size()) / made.stream.answered.back();
      EXPECT_LE(all_the_time, most * (1 + 1e-9)) << made.name;
    }
  }
}

TEST(Stream, FourStagesAreWorthThreeAndAHalfWorkers) {
  const Graph vgg = *passes::optimize(*zoo::build("vgg16"));
  const auto plans = make_stream_plans(
      vgg, uniform_cluster(4, *find_device("pi4"), *find_link("gigabit")), {.replicas = false});
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->front().name, "4 stages");
  EXPECT_GT(plans->front().requests_per_second(), 3.5 * plans->back().requests_per_second());
}

// Every turn answers though any one is lost, and gives the same; all workers are of use.
TEST(StreamPlans, SurviveWithEveryTurn) {
  const Graph graph = *passes::optimize(*zoo::build("lenet5"));
  const ClusterProfile cluster = uniform_cluster(4, *find_device("pi4"), *find_link("gigabit"));
  const auto plain = make_stream_plans(graph, cluster);
  const auto plans = make_stream_plans(graph, cluster, {.survive = 1});
  ASSERT_TRUE(plain.ok() && plans.ok()) << plans.status().message();
  const auto device = make_cpu_device({.threads = 1});
  Rng rng(3);
  const std::vector<Tensor> inputs = random_inputs(rng, graph);
  const std::vector<Tensor> want = run_whole(graph, *device, inputs);
  bool any_coded = false;
  for (const StreamPrediction& made : *plans) {
    for (const ScheduledPlan& turn : made.turns) {
      EXPECT_EQ(turn.plan().survives, 1) << made.name;
      const Status safe = verify(made.graph(), turn.plan(), 4);
      EXPECT_TRUE(safe.ok()) << made.name << ": " << safe.message();
      any_coded = any_coded || !turn.plan().codes.empty();
      const int lost = static_cast<int>(draw(rng, 0, 3));
      expect_near(run_here(made.graph(), turn.plan(), *device, inputs, {{lost, 0}}), want);
    }
  }
  EXPECT_TRUE(any_coded);
  EXPECT_LT(plans->front().requests_per_second(), plain->front().requests_per_second());
  EXPECT_GT(plans->front().requests_per_second(), 0.4 * plain->front().requests_per_second());
}

// Bytes of constants that a worker's tasks read, over all turns; each counts once.
double constant_bytes(const StreamPrediction& made, int worker) {
  std::set<ValueId> read;
  for (const ScheduledPlan& turn : made.turns) {
    for (const Segment& segment : turn.plan().segments) {
      if (std::ranges::find(segment.tasks, worker, &Task::worker) == segment.tasks.end()) continue;
      for (size_t i = segment.nodes.begin; i < segment.nodes.end; ++i) {
        for (ValueId id : made.graph().nodes()[i].inputs) {
          if (id != kNoValue && made.graph()[id].constant) read.insert(id);
        }
      }
    }
  }
  double bytes = 0;
  for (ValueId id : read) bytes += static_cast<double>(made.graph()[id].type.bytes());
  return bytes;
}

TEST(StreamPlans, FitIntoMemoryWithWhatIsRepeated) {
  const Graph graph = *passes::optimize(*zoo::build("lenet5"));
  ClusterProfile cluster = uniform_cluster(3, *find_device("pi4"), *find_link("gigabit"));
  const auto all = make_stream_plans(graph, cluster);
  ASSERT_TRUE(all.ok());
  const auto alone = std::ranges::find(*all, "one worker", &StreamPrediction::name);
  ASSERT_NE(alone, all->end());
  const double whole =
      std::max({constant_bytes(*alone, 0), constant_bytes(*alone, 1), constant_bytes(*alone, 2)});
  size_t repeated = 0;
  for (double share : {0.3, 0.6, 0.95, 0.99, 1.5, 3.0}) {
    SCOPED_TRACE(share);
    for (WorkerProfile& worker : cluster.workers) worker.memory_bytes = share * whole;
    const auto plans = make_stream_plans(graph, cluster, {.survive = 1});
    if (!plans.ok()) {
      EXPECT_EQ(plans.status().code(), Code::kExhausted);
      continue;
    }
    for (const StreamPrediction& made : *plans) {
      if (!made.turns[0].plan().codes.empty()) continue;  // reads parts of constants
      ++repeated;
      for (int w = 0; w < 3; ++w) EXPECT_LE(constant_bytes(made, w), share * whole) << made.name;
    }
  }
  EXPECT_GT(repeated, 0u);
}

}  // namespace
}  // namespace shoal::plan
