// Plans by levels: the same answers, nearly as fast as those of the flat search.
#include "shoal/plan/hierarchy/levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/plan/device_presets.h"

namespace shoal::plan {
namespace {

// Three kinds of boards, in turn, on wires.
ClusterProfile unlike_boards(size_t workers) {
  ClusterProfile cluster = uniform_cluster(workers, *find_device("pi4"), *find_link("gigabit"));
  constexpr const char* kKinds[] = {"pi3", "pi4", "pi5"};
  for (size_t w = 0; w < workers; ++w) cluster.workers[w] = find_device(kKinds[w % 3])->profile();
  return cluster;
}

TEST(Groups, HoldEveryWorkerOnceAndSimilarOnesTogether) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    const ClusterProfile cluster = random_cluster(rng, static_cast<int>(draw(rng, 1, 30)));
    const Choices choices(graph, cluster, {});
    const std::vector<Choices::Group> groups = similar_workers(choices, cluster);
    std::multiset<int> seen;
    for (const Choices::Group& group : groups) {
      for (int worker : group) {
        seen.insert(worker);
        EXPECT_EQ(cluster.link_of(worker).medium, cluster.link_of(group[0]).medium);
        EXPECT_LE(choices.ability(worker), choices.ability(group[0]));
        EXPECT_LE(choices.ability(group[0]), kSimilar * choices.ability(worker));
      }
    }
    std::vector<int> sorted = in_turn(groups);
    std::ranges::sort(sorted);
    EXPECT_EQ(std::vector<int>(seen.begin(), seen.end()), sorted);
    EXPECT_EQ(sorted.size(), cluster.workers.size());
  }
  const ClusterProfile boards = unlike_boards(30);
  const Graph graph = optimized("lenet5");
  EXPECT_EQ(similar_workers(Choices(graph, boards, {}), boards).size(), 3u);
}

TEST(Teams, HoldEveryWorkerOnce) {
  for (size_t workers : std::vector<size_t>{1, 7, 8, 9, 30}) {
    const ClusterProfile boards = unlike_boards(workers);
    const auto groups = similar_workers(Choices(optimized("lenet5"), boards, {}), boards);
    std::set<int> seen;
    const auto teams = make_teams(groups, 8);
    for (const std::vector<int>& team : teams) {
      EXPECT_LE(team.size(), 8u);
      seen.insert(team.begin(), team.end());
    }
    EXPECT_EQ(seen.size(), workers);
    EXPECT_EQ(teams.size(), (workers + 7) / 8);
  }
}

TEST(Levels, KeepTheAnswer) {
  const auto device = make_cpu_device({.threads = 1});
  const ClusterProfile cluster = unlike_boards(20);
  for (const char* model : {"lenet5", "nin"}) {
    const Graph graph = optimized(model);
    Rng rng(1);
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    const auto plans = make_plans_by_levels(graph, cluster);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    for (const Prediction& made : *plans) {
      SCOPED_TRACE(std::string(model) + ": " + made.name);
      ASSERT_TRUE(verify(made.graph(), made.plan(), 20).ok());
      expect_near(run_here(made.graph(), made.plan(), *device, inputs), want);
    }
  }
}

TEST(Levels, AreNearTheFlatPlan) {
  const ClusterProfile alike = uniform_cluster(16, *find_device("pi4"), *find_link("gigabit"));
  const ClusterProfile radio = uniform_cluster(16, *find_device("pi4"), *find_link("wifi-94"));
  for (const ClusterProfile& cluster : {alike, radio, unlike_boards(16)}) {
    for (const char* model : {"lenet5", "nin"}) {
      const Graph graph = optimized(model);
      const auto flat = make_plans(graph, cluster), levels = make_plans_by_levels(graph, cluster);
      ASSERT_TRUE(flat.ok() && levels.ok());
      EXPECT_LE(levels->front().timeline.seconds, 1.1 * flat->front().timeline.seconds) << model;
    }
  }
}

TEST(Levels, AreNeverSlowerThanTheBestWorker) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Graph graph = random_network(rng);
    if (graph.nodes().empty()) continue;
    const int workers = static_cast<int>(draw(rng, 9, 20));
    const ClusterProfile cluster = random_cluster(rng, workers);
    const auto plans = make_plans_by_levels(graph, cluster);
    ASSERT_TRUE(plans.ok());
    for (int w = 0; w < workers; ++w) {
      EXPECT_LE(plans->front().timeline.seconds, plan_for_one(graph, cluster, w)->timeline.seconds);
    }
  }
}

TEST(Levels, RefuseWhatNeedsAllWorkersAtOnce) {
  const Graph graph = optimized("lenet5");
  const ClusterProfile cluster = unlike_boards(9);
  EXPECT_EQ(make_plans_by_levels(graph, cluster, {.survive = 1}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(make_plans_by_levels(graph, cluster, {.forced = true}).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::plan
