// Sparse layers by clusters: the rewrite, the plans, and what travels.
#include <gtest/gtest.h>

#include <string>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/find_clusters.h"
#include "shoal/plan/sparse/clustered_layers.h"
#include "shoal/plan/summary.h"

namespace shoal::plan {
namespace {

constexpr double kMostError = 1e-5;

void expect_equal(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_LE(relative_error(got[i], want[i]), kMostError);
}

ClusterProfile phones(size_t count) {
  return uniform_cluster(count, *find_device("nexus5"), *find_link("wifi-43.8"));
}

ClusterProfile boards(size_t count) {
  return uniform_cluster(count, *find_device("pi3"), *find_link("gigabit"));
}

PlanOptions forced() { return {.cuts = {Cut::kClusters}, .forced = true}; }

Graph layers(Rng& rng, const std::vector<BlockMatrix>& matrices) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, matrices[0].columns}});
  for (const BlockMatrix& matrix : matrices) {
    const ValueId w = graph.add_constant("w", random_blocks(rng, matrix));
    const ValueId b = graph.add_constant("b", random_tensor(rng, {matrix.rows}));
    x = *graph.add(ops::gemm, {x, w, b}, {{"transB", int64_t{1}}});
    x = *graph.add(ops::relu, {x});
  }
  graph.mark_output(x);
  return graph;
}

// The weight of a product, outputs first.
SparsePattern layer_pattern(const Graph& graph, const Node& node) {
  const Tensor& weight = *graph[node.inputs[1]].constant;
  const auto first = static_cast<size_t>(weight.shape()[0]);
  const SparsePattern pattern = pattern_of(weight.data<float>(), first);
  const bool turned = node.op == &ops::mat_mul || node.integer("transB", 0) == 0;
  return turned ? transposed(pattern) : pattern;
}

// From the clusters alone, without graph or plan.
ClusterSummary counted(const Graph& graph, const std::vector<ClusteredLayer>& clustered) {
  ClusterSummary sum;
  for (const ClusteredLayer& layer : clustered) {
    const Node& node = graph.nodes()[layer.node];
    const SparsePattern pattern = layer_pattern(graph, node);
    const ClusterWorkers workers = workers_of(layer);
    const auto clusters = make_clusters(pattern, workers, kClusterSeed);
    const ClusterTraffic traffic = traffic_of(pattern, *clusters, workers);
    const int64_t bytes = 4 * graph[node.outputs[0]].type.shape[0];
    sum.bytes += bytes * static_cast<int64_t>(traffic.values);
    sum.dense_bytes += bytes * static_cast<int64_t>(traffic.dense);
  }
  return sum;
}

TEST(ClusteredLayers, ComputeTheSame) {
  const auto device = make_cpu_device({.threads = 1});
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Graph graph = random_sparse_layers(rng);
    std::vector<ClusteredLayer> clustered;
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      ASSERT_TRUE(can_be_clustered(graph, graph.nodes()[i]));
      ClusteredLayer layer{.node = i, .speeds = {}};
      for (int64_t k = draw(rng, 1, 4); k > 0; --k) {
        layer.speeds.push_back(static_cast<double>(draw(rng, 1, 3)));
      }
      layer.seconds_per_value = static_cast<double>(draw(rng, 0, 20));
      clustered.push_back(std::move(layer));
    }
    const auto made = with_clusters(graph, clustered);
    ASSERT_TRUE(made.ok()) << made.status().message();
    ASSERT_TRUE(verify(made->graph).ok());
    const auto inputs = random_inputs(rng, graph);
    expect_equal(run_whole(made->graph, *device, inputs), run_whole(graph, *device, inputs));
    EXPECT_EQ(made->dense_bytes, counted(graph, clustered).dense_bytes);
  }
}

TEST(ClusteredLayers, LeaveOthersAlone) {
  Rng rng(1);
  Graph graph = layers(rng, {{.rows = 100, .columns = 100, .inside = 0.9},
                             {.rows = 30, .columns = 100, .inside = 0.1}});
  for (const Node& node : graph.nodes()) EXPECT_FALSE(can_be_clustered(graph, node));
  EXPECT_EQ(with_clusters(graph, {{.node = 1, .speeds = {1, 1}}}).status().code(),
            Code::kUnsupported);
  EXPECT_FALSE(with_clusters(graph, {{.node = 0, .speeds = {1, 0}}}).ok());
  EXPECT_FALSE(with_clusters(graph, {{.node = 0, .speeds = {}}}).ok());
}

TEST(ClusteredLayers, RefuseWhatHasTooFewLines) {
  Rng rng(2);
  const Graph graph = layers(rng, {{.rows = 64, .columns = 64, .blocks = 64, .dead = 0.98}});
  EXPECT_EQ(
      with_clusters(graph, {{.node = 0, .speeds = std::vector<double>(8, 1)}}).status().code(),
      Code::kUnsupported);
}

// What a plan sends is what its clusters say, to the byte, and it computes the same.
TEST(ClusteredPlans, SendWhatClustersSay) {
  const auto device = make_cpu_device({.threads = 1});
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Graph graph = random_sparse_layers(rng);
    ClusterProfile cluster = phones(static_cast<size_t>(draw(rng, 2, 4)));
    if (draw(rng, 0, 1) == 1) cluster.workers[1] = find_device("pi4")->profile();
    const auto made = compare_plans(graph, cluster, forced());
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Prediction& best = made->best();
    ASSERT_EQ(best.name, "clusters");
    ASSERT_EQ(best.origin.clusters.size(), graph.nodes().size());
    ASSERT_TRUE(verify(best.graph(), best.plan(), 4).ok());
    const auto inputs = random_inputs(rng, graph);
    expect_equal(run_here(best.graph(), best.plan(), *device, inputs),
                 run_whole(graph, *device, inputs));
    const Summary summary = summarize(*made);
    ASSERT_TRUE(summary.clusters);
    const ClusterSummary want = counted(graph, best.origin.clusters);
    EXPECT_EQ(summary.clusters->bytes, want.bytes);
    EXPECT_EQ(summary.clusters->dense_bytes, want.dense_bytes);
    const std::string json = to_json(summary);
    EXPECT_NE(json.find("\"fc_bytes\":" + std::to_string(want.bytes)), std::string::npos);
    EXPECT_NE(json.find("\"fc_bytes_dense\":" + std::to_string(want.dense_bytes)),
              std::string::npos);
  }
}

// Blocks as many as workers: each neuron travels once, and all workers have the same work.
TEST(ClusteredPlans, SendEachNeuronOfBlocksOnce) {
  for (size_t workers = 2; workers <= 4; ++workers) {
    SCOPED_TRACE(workers);
    Rng rng(static_cast<unsigned>(workers));
    const auto blocks = static_cast<int64_t>(workers);
    const Graph graph =
        layers(rng, {{.rows = 240, .columns = 240, .blocks = blocks, .inside = 0.5}});
    const auto made = compare_plans(graph, boards(workers), forced());
    ASSERT_TRUE(made.ok()) << made.status().message();
    const ClusteredLayer& layer = made->best().origin.clusters.front();
    const SparsePattern pattern = layer_pattern(graph, graph.nodes()[layer.node]);
    const auto clusters = make_clusters(pattern, workers_of(layer), kClusterSeed);
    EXPECT_LE(imbalance(traffic_of(pattern, *clusters, workers_of(layer)), layer.speeds), 1.05);
    // Of (1 + k) n / k values for each worker but the hub, 2 n / k are left.
    const Summary summary = summarize(*made);
    ASSERT_TRUE(summary.clusters);
    EXPECT_EQ(summary.clusters->bytes * (blocks + 1), summary.clusters->dense_bytes * 2);
  }
}

TEST(ClusteredPlans, DropDeadNeurons) {
  Rng rng(5);
  const Graph graph =
      layers(rng, {{.rows = 240, .columns = 240, .blocks = 4, .inside = 0.5, .dead = 0.3}});
  const auto made = compare_plans(graph, phones(4), forced());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Summary summary = summarize(*made);
  ASSERT_TRUE(summary.clusters);
  EXPECT_LE(10 * summary.clusters->bytes, 4 * summary.clusters->dense_bytes);
}

// Clusters are not asked for: they are used if they are fastest.
TEST(ClusteredPlans, AreChosenWhereTheyAreFastest) {
  Rng rng(3);
  const Graph graph = layers(rng, {{.rows = 1024, .columns = 1024, .blocks = 4, .outside = 0.001}});
  const auto plans = make_plans(graph, boards(4));
  ASSERT_TRUE(plans.ok());
  EXPECT_NE(plans->front().name.find("clusters"), std::string::npos);
  const auto others =
      make_plans(layers(rng, {{.rows = 96, .columns = 96, .inside = 0.5}}), boards(4));
  ASSERT_TRUE(others.ok());
  EXPECT_TRUE(others->front().origin.clusters.empty());
}

TEST(ClusteredPlans, FallBackWithoutSparseLayers) {
  const auto plans = make_plans(optimized("lenet5"), phones(2), forced());
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->front().name, "one worker");
}

}  // namespace
}  // namespace shoal::plan
