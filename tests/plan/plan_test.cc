// Whatever the plan, the answer is the whole graph's.
#include "shoal/plan/plan.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/cpu/cpu.h"
#include "shoal/ops/ops.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/known.h"
#include "shoal/plan/planner.h"
#include "shoal/zoo/zoo.h"

namespace shoal::plan {
namespace {

TEST(Plan, GivesTheAnswerOfTheWhole) {
  const auto device = make_cpu_device({.threads = 1});
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const int workers = static_cast<int>(draw(rng, 1, 8));
    const Plan plan = random_plan(rng, graph, workers);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(graph, plan));
    ASSERT_TRUE(verify(graph, plan, workers).ok());
    const std::vector<Tensor> inputs = {random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    expect_near(run_here(graph, plan, *device, inputs), run_whole(graph, *device, inputs));
    if (HasFatalFailure()) return;
  }
}

Graph optimized(std::string_view name) {
  auto graph = zoo::build(name);
  EXPECT_TRUE(graph.ok());
  auto better = passes::optimize(*graph);
  EXPECT_TRUE(better.ok());
  return *std::move(better);
}

bool is_conv(const Node& node) { return node.op == &ops::conv || node.op == &ops::fused_conv; }

// VGG-16 with every convolution spread over workers, and all that follows on one: the bytes of
// halos, which convolutions read of their neighbours' rows, and what of the image is sent twice.
int64_t vgg_halo_bytes(const Graph& graph, const Layout& layout) {
  Plan plan;
  size_t last = 0;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (is_conv(graph.nodes()[i]) || graph.nodes()[i].op == &ops::max_pool) last = i + 1;
  }
  for (size_t i = 0; i < last; ++i) {
    const NodeRange nodes{i, i + 1};
    plan.segments.push_back({nodes, layout.describe(), *tasks_of(graph, nodes, layout)});
  }
  const NodeRange rest{last, graph.nodes().size()};
  plan.segments.push_back({rest, "", *tasks_of(graph, rest, {Cut::kNone, {0}, {1}, 1})});
  const auto schedule = make_schedule(graph, plan);
  EXPECT_TRUE(schedule.ok());
  int64_t bytes = -static_cast<int64_t>(graph[graph.inputs()[0]].type.bytes());
  for (const Transfer& transfer : schedule->transfers) {
    if (transfer.segment < last &&
        is_conv(graph.nodes()[plan.segments[transfer.segment].nodes.begin])) {
      bytes += bytes_of(graph, transfer.piece);
    }
  }
  return bytes;
}

TEST(Plan, HalosTakeTheBytesTheyMust) {
  const Graph vgg = optimized("vgg16");
  EXPECT_EQ(vgg_halo_bytes(vgg, {Cut::kRows, {0, 1}, {1, 1}, 1}), 1037568);
  EXPECT_EQ(vgg_halo_bytes(vgg, {Cut::kRows, {0, 1, 2}, {1, 1, 1}, 1}), 2075136);
  EXPECT_EQ(vgg_halo_bytes(vgg, {Cut::kRows, {0, 1, 2, 3}, {1, 1, 1, 1}, 1}), 3112704);
  EXPECT_EQ(vgg_halo_bytes(vgg, {Cut::kGrid, {0, 1, 2, 3}, {1, 1, 1, 1}, 2}), 2134576);
}

// What the profiles were fitted to.
TEST(KnownDevices, TakeTheReportedTimes) {
  const Graph vgg = optimized("vgg16");
  for (const auto& [device, seconds] : {std::pair("nexus5", 15.809), std::pair("pi3", 9.4)}) {
    const auto one =
        plan_for_one(vgg, uniform_cluster(1, *find_device(device), *find_link("gigabit")), 0);
    ASSERT_TRUE(one.ok());
    EXPECT_NEAR(one->timeline.compute_seconds[0], seconds, 0.005 * seconds) << device;
  }
}

TEST(Planner, BeatsWhatWasReported) {
  const Graph vgg = optimized("vgg16");
  const double reported[] = {1.86, 2.30, 3.04};
  for (size_t workers = 2; workers <= 4; ++workers) {
    const ClusterProfile cluster =
        uniform_cluster(workers, *find_device("nexus5"), *find_link("wifi-43.8"));
    const auto one = plan_for_one(vgg, cluster, 0);
    const auto plans = make_plans(vgg, cluster);
    ASSERT_TRUE(one.ok() && plans.ok());
    EXPECT_GT(one->timeline.seconds / plans->front().timeline.seconds, reported[workers - 2]);
  }
}

}  // namespace
}  // namespace shoal::plan
