// Plans that are made again without a search.
#include "shoal/plan/search/plan_recipe.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/device_presets.h"

namespace shoal::plan {
namespace {

// Convolutions and a matrix that is worth being computed as a sum.
Graph small_network() {
  Rng rng(1);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 64, 8, 8}});
  for (int i = 0; i < 2; ++i) {
    const ValueId w = graph.add_constant("w", random_tensor(rng, {64, 64, 3, 3}));
    x = *graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
  }
  x = *graph.add(ops::flatten, {x});
  const ValueId w = graph.add_constant("m", random_tensor(rng, {64 * 8 * 8, 256}));
  graph.mark_output(*graph.add(ops::mat_mul, {x, w}));
  return graph;
}

ClusterProfile workers(size_t count) {
  return uniform_cluster(count, *find_device("pi3"), *find_link("ethernet-100"));
}

std::vector<PlanOptions> kinds_of_plans() {
  std::vector<PlanOptions> all(4);
  all[1].forced = true;
  all[1].cuts = {Cut::kInputs};
  all[2].wire = {WireFormat::kF16, 0.05};
  all[3].survive = 1;
  all[3].wait_seconds = 0.5;
  return all;
}

TEST(Remake, GivesTheSamePlans) {
  const Graph graph = small_network();
  const ClusterProfile cluster = workers(4);
  bool any_sums = false, any_narrow = false, any_coded = false;
  for (const PlanOptions& options : kinds_of_plans()) {
    const auto plans = make_plans(graph, cluster, options);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    for (const Prediction& made : *plans) {
      const auto again = follow_recipe(graph, cluster, options, made.origin);
      ASSERT_TRUE(again.ok()) << made.name << ": " << again.status().message();
      EXPECT_EQ(again->name, made.name);
      EXPECT_EQ(again->plan(), made.plan());
      EXPECT_EQ(again->timeline.seconds, made.timeline.seconds);
      EXPECT_EQ(again->error, made.error);
      EXPECT_EQ(again->price.compute, made.price.compute);
      any_sums = any_sums || !made.origin.sums.empty();
      any_narrow = any_narrow || made.error > 0;
      any_coded = any_coded || !made.plan().codes.empty();
    }
  }
  EXPECT_TRUE(any_sums && any_narrow && any_coded)
      << "not all steps were taken: " << any_sums << any_narrow << any_coded;
}

// The layers are clustered again from their weights.
TEST(Remake, GivesTheSameClusters) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const Graph graph = random_sparse_layers(rng);
    const PlanOptions options{.cuts = {Cut::kClusters}, .forced = true};
    const auto plans = make_plans(graph, workers(3), options);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    const Prediction& made = plans->front();
    ASSERT_FALSE(made.origin.clusters.empty());
    const auto again = follow_recipe(graph, workers(3), options, made.origin);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->plan(), made.plan());
    EXPECT_EQ(again->timeline.seconds, made.timeline.seconds);
    EXPECT_EQ(again->origin.dense_bytes, made.origin.dense_bytes);
    Origin damaged = made.origin;
    damaged.clusters[0].node = graph.nodes().size();
    EXPECT_FALSE(follow_recipe(graph, workers(3), options, damaged).ok());
    damaged.clusters[0] = {.node = made.origin.clusters[0].node, .speeds = {1, -1}};
    EXPECT_FALSE(follow_recipe(graph, workers(3), options, damaged).ok());
    damaged.clusters[0].speeds = {};
    EXPECT_FALSE(follow_recipe(graph, workers(3), options, damaged).ok());
  }
}

// One number of it, any number.
void damage(Origin& origin, Rng& rng) {
  Segment& segment = origin.plan.segments[rng() % origin.plan.segments.size()];
  Task& task = segment.tasks[rng() % segment.tasks.size()];
  Piece& piece = task.outputs[rng() % task.outputs.size()];
  const int64_t number = static_cast<int64_t>(rng() % 40) - 20;
  const size_t d = rng() % piece.region.begin.rank();
  switch (rng() % 7) {
    case 0:
      segment.nodes.begin = static_cast<size_t>(number);
      break;
    case 1:
      segment.nodes.end = static_cast<size_t>(number);
      break;
    case 2:
      task.worker = static_cast<int>(number);
      break;
    case 3:
      piece.value = ValueId{static_cast<int32_t>(number)};
      break;
    case 4:
      piece.region.begin[d] = number;
      break;
    case 5:
      piece.region.end[d] = number;
      break;
    default:
      origin.sums.push_back({static_cast<size_t>(number), {1, 1}});
  }
}

// Whatever is left of it is a plan, or it is refused.
TEST(Remake, RefusesWhatIsNoPlan) {
  const Graph graph = small_network();
  const ClusterProfile cluster = workers(4);
  const auto plans = *make_plans(graph, cluster);
  Rng rng(7);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Origin origin = plans[rng() % plans.size()].origin;
    damage(origin, rng);
    const auto made = follow_recipe(graph, cluster, {}, origin);
    refused += made.ok() ? 0 : 1;
    EXPECT_TRUE(!made.ok() || verify(made->graph(), made->plan(), 4).ok());
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shoal::plan
