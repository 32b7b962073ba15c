// Whatever the plan, the answer is the whole graph's.
#include "shoal/plan/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "run_here.h"
#include "shoal/cpu/cpu.h"
#include "shoal/ops/ops.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/planner.h"
#include "shoal/zoo/zoo.h"

namespace shoal::plan {
namespace {

using Rng = std::mt19937;
using Ints = std::vector<int64_t>;

int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

Tensor random_tensor(Rng& rng, const Shape& shape) {
  Tensor tensor({DType::kF32, shape});
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : tensor.data<float>()) x = uniform(rng);
  return tensor;
}

void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    float top = 1e-6f;
    for (float x : want[i].data<float>()) top = std::max(top, std::abs(x));
    for (size_t e = 0; e < want[i].data<float>().size(); ++e) {
      ASSERT_NEAR(got[i].data<float>()[e], want[i].data<float>()[e], 1e-4f * top)
          << "element " << e;
    }
  }
}

// Images of one to three axes through convolutions, pools, sums and activations.
Graph random_network(Rng& rng) {
  Graph graph;
  const size_t axes = static_cast<size_t>(draw(rng, 1, 3));
  const auto all = [&](int64_t low, int64_t high) {
    Ints list;
    for (size_t d = 0; d < axes; ++d) list.push_back(draw(rng, low, high));
    return list;
  };
  const auto symmetric = [](const Ints& pads) {
    Ints both = pads;
    both.insert(both.end(), pads.begin(), pads.end());
    return both;
  };
  int64_t channels = 2 * draw(rng, 1, 4);
  Shape shape{draw(rng, 1, 2), channels};
  for (int64_t size : all(axes == 3 ? 8 : 16, axes == 3 ? 12 : 28)) shape.push_back(size);
  ValueId x = graph.add_input("x", {DType::kF32, shape});
  for (int64_t layer = draw(rng, 2, 5); layer > 0; --layer) {
    const int64_t kind = draw(rng, 0, 3);
    Result<ValueId> next = x;
    if (kind <= 1) {
      const int64_t groups = draw(rng, 0, 2) == 0 ? 2 : 1, out = 2 * draw(rng, 1, 5);
      Shape w{out, channels / groups};
      const Ints kernel = all(1, axes == 3 ? 3 : 7);
      for (int64_t k : kernel) w.push_back(k);
      Ints pads;
      for (int64_t k : kernel) pads.push_back(draw(rng, 0, k / 2));
      next = graph.add(ops::fused_conv,
                       {x, graph.add_constant("w", random_tensor(rng, w)),
                        graph.add_constant("b", random_tensor(rng, {out}))},
                       {{"strides", all(1, draw(rng, 0, 2) == 0 ? 3 : 1)},
                        {"dilations", all(1, draw(rng, 0, 3) == 0 ? 2 : 1)},
                        {"pads", symmetric(pads)},
                        {"group", groups},
                        {"activation", std::string(draw(rng, 0, 1) == 0 ? "Relu" : "")}});
      if (next.ok()) channels = out;
    } else if (kind == 2) {
      next = graph.add(draw(rng, 0, 1) == 0 ? ops::max_pool : ops::average_pool, {x},
                       {{"kernel_shape", all(2, 3)}, {"strides", all(1, 2)}});
    } else {
      next = graph.add(ops::add, {x, *graph.add(ops::sigmoid, {x})});
    }
    // A window may be larger than what is left of the image: then the network ends there.
    if (next.ok() && graph[*next].type.shape.count() > 0) x = *next;
  }
  graph.mark_output(x);
  return graph;
}

Layout random_layout(Rng& rng, int workers) {
  constexpr Cut kCuts[] = {Cut::kNone,    Cut::kBatch, Cut::kRows,
                           Cut::kColumns, Cut::kGrid,  Cut::kChannels};
  Layout layout;
  layout.cut = kCuts[draw(rng, 0, 5)];
  const int64_t count = layout.cut == Cut::kNone ? 1 : draw(rng, 1, workers);
  for (int64_t i = 0; i < count; ++i) {
    layout.workers.push_back(static_cast<int>(i));
    layout.shares.push_back(static_cast<double>(draw(rng, 1, 5)));
  }
  std::ranges::shuffle(layout.workers, rng);
  if (layout.cut == Cut::kGrid) layout.grid_rows = count % 2 == 0 ? 2 : 1;
  return layout;
}

// The pieces of all that is read after the nodes. Nothing where some value has no such axis.
std::optional<std::vector<Task>> tasks_of(const Graph& graph, NodeRange nodes,
                                          const Layout& layout) {
  std::vector<Task> tasks;
  for (int worker : layout.workers) tasks.push_back({worker, {}});
  for (ValueId id : live_after(graph, nodes)) {
    const std::vector<Region> regions = regions_of(layout, graph[id].type.shape);
    if (regions.empty()) return std::nullopt;
    for (size_t i = 0; i < regions.size(); ++i) {
      if (!is_empty(regions[i])) tasks[i].outputs.push_back({id, regions[i]});
    }
  }
  std::erase_if(tasks, [](const Task& task) { return task.outputs.empty(); });
  for (const Task& task : tasks) {
    if (!make_part(graph, nodes, task.outputs).ok()) return std::nullopt;
  }
  return tasks;
}

Plan random_plan(Rng& rng, const Graph& graph, int workers) {
  Plan plan;
  for (size_t begin = 0; begin < graph.nodes().size();) {
    const size_t left = graph.nodes().size() - begin;
    const NodeRange nodes{begin,
                          begin + static_cast<size_t>(draw(rng, 1, static_cast<int64_t>(left)))};
    const Layout layout = random_layout(rng, workers);
    if (auto tasks = tasks_of(graph, nodes, layout)) {
      plan.segments.push_back({nodes, layout.describe(), *std::move(tasks)});
      begin = nodes.end;
    }
  }
  return plan;
}

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

// LG Nexus 5 phones on one radio channel, as MoDNN's table has them.
ClusterProfile nexus5(size_t workers) {
  ClusterProfile cluster;
  const LinkProfile wifi{1e-3, 43.8 * (1 << 20) / 8, 54.7e-3, 0.1};
  for (size_t i = 0; i < workers; ++i) {
    cluster.workers.push_back(uniform_worker("nexus5", 0.979e9, 4e9));
    cluster.links.push_back(wifi);
  }
  cluster.coordinator = wifi;
  cluster.shared_medium = true;
  return cluster;
}

TEST(Planner, BeatsWhatWasReported) {
  const Graph vgg = optimized("vgg16");
  const double reported[] = {1.86, 2.30, 3.04};
  for (size_t workers = 2; workers <= 4; ++workers) {
    const ClusterProfile cluster = nexus5(workers);
    const auto one = plan_for_one(vgg, cluster, 0);
    const auto plans = make_plans(vgg, cluster);
    ASSERT_TRUE(one.ok() && plans.ok());
    EXPECT_GT(one->timeline.seconds / plans->front().timeline.seconds, reported[workers - 2]);
  }
}

}  // namespace
}  // namespace shoal::plan
