// The cost and the benefit of surviving losses, in virtual time.
#include "shoal/plan/search/survive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/survives.h"

namespace shoal::plan {
namespace {

// Layers as those of a VGG network, with fewer channels.
Graph layers(int count, int64_t channels = 16, int64_t size = 24) {
  Rng rng(1);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, channels, size, size}});
  for (int i = 0; i < count; ++i) {
    const ValueId w = graph.add_constant("w", random_tensor(rng, {channels, channels, 3, 3}));
    x = *graph.add(
        ops::fused_conv, {x, w},
        {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"activation", std::string("Relu")}});
  }
  graph.mark_output(x);
  return graph;
}

ClusterProfile five_workers() {
  return uniform_cluster(5, *find_device("pi4"), *find_link("gigabit"));
}

Protected coded_layers(const Graph& graph) {
  Plan plan;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Layout layout{Cut::kChannels, {0, 1, 2, 3}, {1, 1, 1, 1}, 1};
    plan.segments.push_back({{i, i + 1}, "", *tasks_of(graph, {i, i + 1}, layout)});
  }
  return *protect(graph, plan, 1, {0, 1, 2, 3, 4});
}

std::vector<double> latencies(const Protected& made, const ClusterProfile& cluster, double wait,
                              double times) {
  const ScheduledPlan turn = ScheduledPlan::make(made.graph, made.plan)->with_wait(wait);
  return simulate_stream(std::span(&turn, 1), cluster, 200, 1, {7, times}).latencies;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double worst(std::vector<double> values) { return std::ranges::max(values); }

constexpr double kForEver = 1e9;

TEST(FirstOfMany, IsAllThatAReaderWaitsFor) {
  const Protected made = coded_layers(layers(3));
  ClusterProfile cluster = five_workers();
  const Schedule schedule = *make_schedule(made.graph, made.plan);
  const double together = simulate(made.graph, made.plan, schedule, cluster).seconds;
  // Any one may be arbitrarily slow, although its copies at the end are not waited for.
  for (WorkerProfile& worker : cluster.workers) {
    const WorkerProfile fast = worker;
    for (auto& [op, speed] : worker.operators) speed.seconds += 1000;
    EXPECT_LT(simulate(made.graph, made.plan, schedule, cluster).seconds, 2 * together)
        << worker.name;
    worker = fast;
  }
}

TEST(Stragglers, CostLittleWhereEnoughIsEnough) {
  const Protected made = coded_layers(layers(4));
  const ClusterProfile cluster = five_workers();
  const auto first = latencies(made, cluster, 0, 10), all = latencies(made, cluster, kForEver, 10);
  EXPECT_LT(mean(first), 0.75 * mean(all));
  EXPECT_LT(worst(first), 0.65 * worst(all));
  EXPECT_EQ(first, latencies(made, cluster, 0, 10)) << "the same seed, the same history";
}

TEST(Wait, LatencyGrowsWithIt) {
  const Protected made = coded_layers(layers(3));
  const ClusterProfile cluster = five_workers();
  double before = 0;
  for (double wait : {0.0, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1, kForEver}) {
    const double now = mean(latencies(made, cluster, wait, 10));
    EXPECT_GE(now, before) << wait;
    before = now;
  }
  EXPECT_GT(before, mean(latencies(made, cluster, 0, 10)));
}

// Without late workers, waiting for all or not is the same, except for which is first.
TEST(Wait, ForEverIsWaitingForAll) {
  const Graph graph = layers(2);
  Protected made = coded_layers(graph);
  const ClusterProfile cluster = five_workers();
  made.plan.wait_seconds = kForEver;
  const Schedule schedule = *make_schedule(made.graph, made.plan);
  const Timeline line = simulate(made.graph, made.plan, schedule, cluster);
  for (size_t i = 0; i < schedule.transfers.size(); ++i) {
    const Transfer& transfer = schedule.transfers[i];
    const auto& data = made.plan.codes[0].data;
    if (std::ranges::find(data, transfer.piece.value) == data.end()) continue;
    for (size_t t = 0; t < made.plan.segments[transfer.segment].tasks.size(); ++t) {
      if (made.plan.segments[transfer.segment].tasks[t].worker != transfer.to) continue;
      const Span& task = line.tasks[transfer.segment][t];
      EXPECT_TRUE(task.end == 0 || task.begin >= line.transfers[i].end);
    }
  }
}

TEST(Planner, MakesPlansThatSurvive) {
  const auto device = make_cpu_device({.threads = 1});
  for (const char* model : {"lenet5", "mlp"}) {
    const Graph graph = optimized(model);
    for (int losses = 1; losses <= 2; ++losses) {
      SCOPED_TRACE(std::string(model) + ", " + std::to_string(losses));
      const ClusterProfile cluster = five_workers();
      const auto plans = make_plans(graph, cluster, {.excluded = {1}, .survive = losses});
      ASSERT_TRUE(plans.ok()) << plans.status().message();
      for (const Prediction& made : *plans) {
        EXPECT_EQ(made.plan().survives, losses);
        EXPECT_TRUE(verify(made.graph(), made.plan(), 5).ok());
        if (made.price.compute <= price_bound(losses)) {
          EXPECT_GE(made.timeline.seconds, plans->front().timeline.seconds);
        }
        EXPECT_EQ(std::ranges::count(workers_of(made.plan()), 1), 0) << "it was excluded";
        EXPECT_GE(made.price.compute, 1);
        EXPECT_NEAR(made.price.repeated_compute, 1 + losses, 1e-9);
      }
      const Prediction& best = plans->front();
      Rng rng(1);
      const std::vector<Tensor> inputs = random_inputs(rng, graph);
      const Losses lost = losses == 1 ? Losses{{0, 0}} : Losses{{0, 0}, {3, 1}};
      expect_near(run_here(best.graph(), best.plan(), *device, inputs, lost),
                  run_whole(graph, *device, inputs));
    }
  }
  EXPECT_FALSE(make_plans(optimized("mlp"),
                          uniform_cluster(2, *find_device("pi4"), *find_link("gigabit")),
                          {.survive = 2})
                   .ok());
}

// A search that knows what protection costs splits layers by channels where that is cheaper than
// repeating rows, which is what plans are made of otherwise.
TEST(SurvivingPlans, AreFoundByWhatProtectionCosts) {
  // Many weights and small images, as at the end of a network.
  const Graph graph = layers(3, 192, 7);
  const ClusterProfile cluster = five_workers();
  PlanOptions options;
  options.survive = 1;
  const auto found = find_protectable(graph, cluster, options);
  ASSERT_TRUE(found.ok() && !found->empty()) << found.status().message();
  const std::vector<int> workers = {0, 1, 2, 3, 4};
  const Protected safe = *protect(found->front().graph(), found->front().plan(), 1, workers);
  EXPECT_FALSE(safe.plan.codes.empty());
  const auto plans = make_plans(graph, cluster, options);
  ASSERT_TRUE(plans.ok());
  const double seconds =
      simulate(safe.graph, safe.plan, *make_schedule(safe.graph, safe.plan), cluster).seconds;
  EXPECT_LE(plans->front().timeline.seconds, seconds);
}

// A network like ResNet-18: images become smaller and channels more. The first layers are cheapest
// repeated by rows, the last ones coded by channels; a mixture of both is neither slower nor as
// dear as repeating all.
Graph narrowing_network() {
  Rng rng(1);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 64, 56, 56}});
  int64_t channels = 64;
  for (int64_t stride : {1, 2, 2, 2}) {
    for (int64_t s : {stride, int64_t{1}}) {
      const int64_t to = s == 2 ? 2 * channels : channels;
      const ValueId w = graph.add_constant("w", random_tensor(rng, {to, channels, 3, 3}));
      x = *graph.add(ops::fused_conv, {x, w},
                     {{"pads", std::vector<int64_t>{1, 1, 1, 1}},
                      {"strides", std::vector<int64_t>{s, s}},
                      {"activation", std::string("Relu")}});
      channels = to;
    }
  }
  graph.mark_output(x);
  return graph;
}

TEST(SurvivingPlans, MixRepeatedAndCodedLayersWithinTheBound) {
  const Graph graph = narrowing_network();
  const auto plans = make_plans(graph, five_workers(), {.survive = 1});
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  const Prediction& best = plans->front();
  EXPECT_LE(best.price.compute, price_bound(1));
  EXPECT_LE(best.timeline.seconds, best.price.repeated_seconds);
  EXPECT_FALSE(best.plan().codes.empty());
  const auto is_repeated = [](const Segment& segment) {
    return segment.split.find("2 times") != std::string::npos;
  };
  EXPECT_TRUE(std::ranges::any_of(best.plan().segments, is_repeated)) << "a mixture";
  // Whoever is lost, the answer is the plain one.
  const auto device = make_cpu_device({.threads = 1});
  Rng rng(1);
  const std::vector<Tensor> inputs = random_inputs(rng, graph);
  const std::vector<Tensor> want = run_whole(graph, *device, inputs);
  for (int lost = 0; lost < 5; ++lost) {
    expect_near(run_here(best.graph(), best.plan(), *device, inputs, {{lost, 0}}), want);
  }
  // Bytes predicted are those that the schedule sends, as far as readers wait for them.
  double bytes = 0;
  for (const Transfer& transfer : best.schedule().transfers) {
    bytes += static_cast<double>(bytes_of(best.graph(), transfer.piece));
  }
  EXPECT_LE(best.timeline.wire_bytes, bytes);
}

}  // namespace
}  // namespace shoal::plan
