// Balancing in virtual time: from a bad start, by what simulated workers report.
#include "shoal/plan/stream/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "random_plan.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {
namespace {

std::vector<int> first_workers(size_t count) {
  std::vector<int> workers(count);
  std::iota(workers.begin(), workers.end(), 0);
  return workers;
}

// The real times of stages; the balancer only gets reports of them.
struct Observed {
  double per_second = 0;
  double slowest_over_mean = 0;  // of what workers compute
  std::vector<WorkerReport> reports;
};

Observed observe(const Graph& graph, const ClusterProfile& truth, const ClusterProfile& belief,
                 const std::vector<Stage>& stages) {
  const auto turns = make_round_robin(graph, belief, stages);
  EXPECT_TRUE(turns.ok());
  const size_t requests = 8 * std::max(turns->size(), 2 * truth.workers.size());
  const Stream stream = simulate_stream(*turns, truth, requests, 2 * truth.workers.size());
  Observed observed;
  observed.per_second = stream.requests_per_second();
  const auto& busy = stream.compute_seconds;
  observed.slowest_over_mean = *std::ranges::max_element(busy) * static_cast<double>(busy.size()) /
                               std::accumulate(busy.begin(), busy.end(), 0.0);
  for (const Stage& stage : stages) {
    const auto part = make_part(graph, stage.nodes, whole_pieces(graph, stage.nodes));
    for (int worker : stage.workers) {
      observed.reports.push_back(
          {worker, seconds_of(graph, *part, truth.workers[static_cast<size_t>(worker)])});
    }
  }
  return observed;
}

struct Settled {
  int moves = 0;
  std::vector<Stage> stages;
  Observed observed;
};

Settled settle(const Graph& graph, const ClusterProfile& truth, const ClusterProfile& belief,
               std::vector<Stage> start) {
  constexpr int kMany = 100;
  Balancer balancer(graph, belief, std::move(start));
  Settled settled;
  for (int quiet = 0; quiet < 3 && settled.moves < kMany;) {
    balancer.learn(observe(graph, truth, balancer.belief(), balancer.stages()).reports);
    const auto moved = balancer.move();
    quiet = moved ? 0 : quiet + 1;
    settled.moves += moved ? 1 : 0;
  }
  settled.stages = balancer.stages();
  settled.observed = observe(graph, truth, balancer.belief(), balancer.stages());
  return settled;
}

// The nodes one by one, and all that are left for the first worker.
std::vector<Stage> lopsided_pipeline(const Graph& graph, const std::vector<int>& workers) {
  const std::vector<size_t> cuts = StageCosts(graph, ClusterProfile()).cuts();
  std::vector<Stage> stages;
  size_t end = cuts.size() - 1;
  for (size_t w = workers.size() - 1; w > 0; --w, --end) {
    stages.insert(stages.begin(), Stage{{cuts[end - 1], cuts[end]}, {workers[w]}});
  }
  stages.insert(stages.begin(), Stage{{0, cuts[end]}, {workers[0]}});
  return stages;
}

struct Case {
  std::string_view model;
  size_t workers;
  double gain;  // wanted against a bad start
};

ClusterProfile pis(size_t workers) {
  return uniform_cluster(workers, *find_device("pi3"), *find_link("ethernet-100"));
}

// The bars of the specification's cases; nothing beforehand is known but that all are alike.
TEST(Balance, SettlesFromABadStart) {
  for (const auto& [model, workers, gain] : {Case{"alexnet", 6, 2}, Case{"vgg16", 10, 4}}) {
    SCOPED_TRACE(model);
    const Graph graph = *passes::optimize(*zoo::build(model));
    const ClusterProfile truth = pis(workers);
    const auto start = lopsided_pipeline(graph, first_workers(workers));
    const Settled settled = settle(graph, truth, truth, start);
    EXPECT_LE(settled.moves, 25);
    EXPECT_LE(settled.observed.slowest_over_mean, 1.2);
    EXPECT_GE(settled.observed.per_second, gain * observe(graph, truth, truth, start).per_second);
  }
}

// Compared with dealing out layers evenly, the gain is at most the idle time.
TEST(Balance, LeavesNobodyIdleOfASimplePipeline) {
  for (const auto& [model, workers, gain] : {Case{"alexnet", 6, 2}, Case{"vgg16", 10, 2}}) {
    SCOPED_TRACE(model);
    const Graph graph = *passes::optimize(*zoo::build(model));
    const ClusterProfile truth = pis(workers);
    const auto start = simple_pipeline(graph, first_workers(workers));
    const Observed before = observe(graph, truth, truth, start);
    const Observed after = settle(graph, truth, truth, start).observed;
    EXPECT_GE(after.per_second, gain * before.per_second);
    EXPECT_NEAR(after.per_second / before.per_second, before.slowest_over_mean, 0.1);
  }
}

ClusterProfile unlike(Rng& rng, const Graph& graph, ClusterProfile cluster) {
  for (WorkerProfile& worker : cluster.workers) {
    const auto times_as_slow = static_cast<double>(draw(rng, 1, 4));
    for (auto& [op, speed] : worker.operators) speed.seconds_per_mac *= times_as_slow;
    for (auto& [op, speed] : worker.operators) speed.seconds_per_byte *= times_as_slow;
  }
  for (const Node& node : graph.nodes()) {
    const double correction = 0.5 * static_cast<double>(draw(rng, 1, 4));
    for (WorkerProfile& worker : cluster.workers) {
      worker.corrections[graph[node.outputs[0]].name] = correction;
    }
  }
  return cluster;
}

TEST(Balance, FindsOutWhoIsSlow) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = *passes::optimize(*zoo::build("alexnet"));
    const auto workers = static_cast<size_t>(draw(rng, 3, 8));
    const ClusterProfile belief = pis(workers);
    const ClusterProfile truth = unlike(rng, graph, belief);
    const auto start = simple_pipeline(graph, first_workers(workers));
    const Settled settled = settle(graph, truth, belief, start);
    EXPECT_LE(settled.moves, 25);
    EXPECT_LE(settled.observed.slowest_over_mean, 1.2);
    EXPECT_GE(settled.observed.per_second, observe(graph, truth, belief, start).per_second);
  }
}

// What is settled comes near the best that a search of all stages finds.
TEST(Balance, ComesNearTheBestStages) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const auto workers = static_cast<size_t>(draw(rng, 2, 6));
    const ClusterProfile cluster = pis(workers);
    const std::vector<int> all = first_workers(workers);
    const Settled settled = settle(graph, cluster, cluster, simple_pipeline(graph, all));
    const StageFinder finder(graph, cluster, all);
    double best = 0;
    for (size_t stages = 1; stages <= workers; ++stages) {
      const auto found = finder.best(stages, workers);
      if (found) best = std::max(best, observe(graph, cluster, cluster, *found).per_second);
    }
    EXPECT_GE(settled.observed.per_second, 0.8 * best);
    EXPECT_LE(settled.moves, 25);
  }
}

// No worker has the memory for the whole of AlexNet.
ClusterProfile short_of_memory(ClusterProfile cluster) {
  for (WorkerProfile& worker : cluster.workers) worker.memory_bytes = 170e6;
  return cluster;
}

// A load that stays the same but is measured badly moves nothing to and fro.
TEST(Balance, StaysWhereItIsWhenMeasuredBadly) {
  Rng rng(1);
  const Graph graph = *passes::optimize(*zoo::build("alexnet"));
  const ClusterProfile belief = short_of_memory(pis(6));
  const ClusterProfile truth = unlike(rng, graph, belief);
  Balancer balancer(graph, belief, simple_pipeline(graph, first_workers(6)));
  int late_moves = 0;
  for (int round = 0; round < 75; ++round) {
    auto reports = observe(graph, truth, balancer.belief(), balancer.stages()).reports;
    for (WorkerReport& report : reports) {
      report.seconds *= 1 + 0.001 * static_cast<double>(draw(rng, -50, 50));
    }
    balancer.learn(reports);
    late_moves += balancer.move().has_value() && round >= 25 ? 1 : 0;
  }
  EXPECT_LE(late_moves, 2);
}

// Nodes that a worker has no memory for are not moved to it.
TEST(Balance, KeepsToTheMemoryThereIs) {
  const Graph graph = *passes::optimize(*zoo::build("alexnet"));
  const ClusterProfile cluster = short_of_memory(pis(6));
  const auto start = simple_pipeline(graph, first_workers(6));
  const Settled settled = settle(graph, cluster, cluster, start);
  const StageCosts costs(graph, cluster);
  for (const Stage& stage : settled.stages) {
    const auto number = [&](size_t node) {
      return static_cast<size_t>(std::ranges::find(costs.cuts(), node) - costs.cuts().begin());
    };
    EXPECT_LT(costs.period(stage.workers, number(stage.nodes.begin), number(stage.nodes.end)), 1e9);
  }
  EXPECT_GT(settled.stages.size(), 1);
  EXPECT_GE(settled.observed.per_second, 1.5 * observe(graph, cluster, cluster, start).per_second);
}

TEST(StagesFor, LeaveOutWorkersThatAreGone) {
  const std::vector<Stage> all = {{{0, 4}, {0}}, {{4, 6}, {1, 2}}, {{6, 9}, {3}}};
  EXPECT_EQ(stages_for(all, {0, 1, 2, 3}), all);
  EXPECT_EQ(stages_for(all, {0, 2, 3}),
            (std::vector<Stage>{{{0, 4}, {0}}, {{4, 6}, {2}}, {{6, 9}, {3}}}));
  EXPECT_EQ(stages_for(all, {0, 1, 2}), (std::vector<Stage>{{{0, 4}, {0}}, {{4, 9}, {1, 2}}}));
  EXPECT_EQ(stages_for(all, {1, 2, 3}), (std::vector<Stage>{{{0, 6}, {1, 2}}, {{6, 9}, {3}}}));
  EXPECT_EQ(stages_for(all, {3}), (std::vector<Stage>{{{0, 9}, {3}}}));
  EXPECT_EQ(stages_for(all, {0}), (std::vector<Stage>{{{0, 9}, {0}}}));
}

TEST(StagesFor, GiveNewWorkersSomethingToDo) {
  const std::vector<Stage> all = {{{0, 4}, {0}}, {{4, 6}, {1, 2}}, {{6, 9}, {3}}};
  EXPECT_EQ(stages_for(all, {0, 1, 2, 4}),
            (std::vector<Stage>{{{0, 4}, {0}}, {{4, 6}, {1, 2}}, {{6, 9}, {4}}}))
      << "it takes the place of one that is gone";
  EXPECT_EQ(stages_for(all, {0, 1, 2, 3, 4}),
            (std::vector<Stage>{{{0, 4}, {0, 4}}, {{4, 6}, {1, 2}}, {{6, 9}, {3}}}));
}

}  // namespace
}  // namespace shoal::plan
