// Whatever the plan, the answer is the whole graph's.
#include "shoal/plan/plan.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/coding/products.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {
namespace {

// A random plan, of the graph or of the graph with partial sums, gives what the graph does.
void expect_same_answer(Rng& rng, const Graph& graph, Device& device) {
  const int workers = static_cast<int>(draw(rng, 1, 8));
  const Graph planned = draw(rng, 0, 1) == 0 ? graph : random_sums(rng, graph, workers);
  const Plan plan = random_plan(rng, planned, workers);
  SCOPED_TRACE(to_text(planned, plan));
  ASSERT_TRUE(verify(planned, plan, workers).ok());
  const std::vector<Tensor> inputs = random_inputs(rng, graph);
  expect_near(run_here(planned, plan, device, inputs), run_whole(graph, device, inputs));
}

TEST(Plan, GivesTheAnswerOfTheWhole) {
  const auto device = make_cpu_device({.threads = 1});
  int cases = 0;
  for (unsigned seed = 0; cases < 1000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    ++cases;
    expect_same_answer(rng, graph, *device);
    if (HasFatalFailure()) return;
  }
}

TEST(Plan, GivesTheAnswerOfSmallZooModels) {
  const auto device = make_cpu_device({.threads = 1});
  for (const char* model : {"convnet", "mlp", "lenet5", "nin", "allcnn", "encoder", "seq2seq"}) {
    const Graph graph = optimized(model);
    for (unsigned seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(std::string(model) + ", seed " + std::to_string(seed));
      Rng rng(seed);
      expect_same_answer(rng, graph, *device);
      if (HasFatalFailure()) return;
    }
  }
}

// Half of the channels of a Concat may be all of one input and nothing of the other.
TEST(Plan, NeedsNothingOfWhatIsLeftOut) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 8, 8}});
  const ValueId a = *graph.add(ops::relu, {x}), b = *graph.add(ops::neg, {x});
  graph.mark_output(*graph.add(ops::concat, {a, b}, {{"axis", int64_t{1}}}));
  Plan plan;
  for (size_t i = 0; i < 3; ++i) {
    const Layout layout{Cut::kChannels, {0, 1}, {0.5, 0.5}, 1};
    plan.segments.push_back({{i, i + 1}, "", *tasks_of(graph, {i, i + 1}, layout)});
  }
  const auto schedule = make_schedule(graph, plan);
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  for (size_t worker = 0; worker < 2; ++worker) {
    const Part& part = schedule->parts[2][worker];
    ASSERT_EQ(part.inputs.size(), 1u);
    EXPECT_EQ(part.inputs[0].value, worker == 0 ? a : b);
    EXPECT_EQ(to_graph(graph, part)->outputs().size(), 1u);
  }
}

// What is not a sum cannot be computed as one: a pool, or an activation between two layers.
TEST(PartialSums, RefuseWhatIsNotLinear) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 8, 8}});
  const ValueId y = *graph.add(ops::relu, {x});
  graph.mark_output(*graph.add(ops::max_pool, {y}, {{"kernel_shape", std::vector<int64_t>{8, 8}}}));
  for (size_t node : {size_t{0}, size_t{1}}) {
    const auto sums = with_partial_sums(graph, {{node, {1, 1}}});
    ASSERT_FALSE(sums.ok());
    EXPECT_EQ(sums.status().code(), Code::kUnsupported);
  }
}

// A layer and the one that adds up its channels, spread as terms: no column is computed twice, and
// only the input and the terms are sent.
TEST(PartialSums, NeedOnlyTheirColumnsOfTheLayerBefore) {
  Rng rng(1);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 16, 32}});
  for (const Shape& shape : {Shape{32, 128}, Shape{128, 32}}) {
    x = *graph.add(ops::mat_mul, {x, graph.add_constant("w", random_tensor(rng, shape))});
    x = *graph.add(ops::relu, {x});
  }
  graph.mark_output(x);
  const Graph sums = *with_partial_sums(graph, {{2, {1, 1, 1, 1}}});
  const size_t merge = sums.nodes().size() - 2;
  const NodeRange terms{0, merge};
  const Layout layout{Cut::kInputs, {0, 1, 2, 3}, {1, 1, 1, 1}, 1};
  const auto tasks = tasks_of(sums, terms, layout);
  ASSERT_TRUE(tasks && tasks->size() == 4);
  for (const Task& task : *tasks) {
    const auto part = make_part(sums, terms, task.outputs);
    ASSERT_TRUE(part.ok());
    double macs = 0;
    for (const PartNode& node : part->nodes) macs += work_of(sums, node).macs;
    EXPECT_EQ(macs, 2 * 16 * 32 * 128 / 4);
    EXPECT_EQ(weight_bytes(sums, *part), 4 * 2 * 32 * 128 / 4);
  }
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

TEST(ScheduledPlan, SharesItsPartsWithItsCopies) {
  Rng rng(3);
  const auto graph = std::make_shared<const Graph>(random_network(rng));
  const auto made = ScheduledPlan::make(graph, random_plan(rng, *graph, 3));
  ASSERT_TRUE(made.ok()) << made.status().message();
  const ScheduledPlan copy = *made, patient = made->with_wait(0.5);
  EXPECT_EQ(&copy.graph(), graph.get());
  EXPECT_EQ(&copy.plan(), &made->plan());
  EXPECT_EQ(&copy.schedule(), &made->schedule());
  EXPECT_EQ(&patient.graph(), graph.get());
  EXPECT_EQ(&patient.schedule(), &made->schedule());
  EXPECT_EQ(patient.plan().wait_seconds, 0.5);
  EXPECT_EQ(made->plan().wait_seconds, 0);
}

TEST(ScheduledPlan, HasTheScheduleOfItsPlan) {
  Rng rng(4);
  const Graph graph = random_network(rng);
  const Plan plan = random_plan(rng, graph, 3);
  const auto made = ScheduledPlan::make(graph, plan);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->plan(), plan);
  EXPECT_EQ(made->schedule().transfers, make_schedule(graph, plan)->transfers);
  EXPECT_TRUE(verify(made->graph(), made->plan(), made->schedule(), 3).ok());
  EXPECT_FALSE(verify(made->graph(), made->plan(), made->schedule(), 0).ok());
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

}  // namespace
}  // namespace shoal::plan
