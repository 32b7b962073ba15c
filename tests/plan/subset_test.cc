#include <gtest/gtest.h>

#include "random_plan.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {
namespace {

ClusterProfile slow_workers(size_t count) {
  ClusterProfile cluster;
  for (size_t i = 0; i < count; ++i) {
    cluster.workers.push_back(uniform_worker("w" + std::to_string(i), 1, 1));
    cluster.links.emplace_back();
  }
  return cluster;
}

TEST(SubsetPlan, UsesNoOtherWorker) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const auto made = make_plan_for({0, 3}, graph, slow_workers(5), {});
    ASSERT_TRUE(made.ok()) << made.status().message();
    for (int worker : workers_of(made->plan())) EXPECT_TRUE(worker == 0 || worker == 3) << worker;
    EXPECT_TRUE(verify(made->graph(), made->plan(), 5).ok());
  }
}

TEST(SubsetPlan, LeavesOutThoseThatWereExcludedBefore) {
  const PlanOptions options = for_workers({.excluded = {1}}, {0, 1, 2}, slow_workers(4));
  EXPECT_EQ(options.excluded, (std::vector<int>{1, 3}));
}

TEST(SubsetPlan, SurvivesOneLossFewerThanThereAreWorkers) {
  const ClusterProfile cluster = slow_workers(4);
  EXPECT_EQ(for_workers({.survive = 2}, {0, 1, 3}, cluster).survive, 2);
  EXPECT_EQ(for_workers({.survive = 2}, {0, 3}, cluster).survive, 1);
  EXPECT_EQ(for_workers({.survive = 2}, {3}, cluster).survive, 0);
  EXPECT_EQ(for_workers({}, {0, 1, 3}, cluster).survive, 0);
  EXPECT_EQ(for_workers({.excluded = {0}, .survive = 2}, {0, 1, 3}, cluster).survive, 1);
}

}  // namespace
}  // namespace shoal::plan
