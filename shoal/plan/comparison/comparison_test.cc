// What a cluster is worth: plans beside each other and beside one worker.
#include "shoal/plan/comparison/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {
namespace {

Graph network(std::string_view name) { return *passes::optimize(*zoo::build(name)); }

ClusterProfile cluster_of(size_t workers, std::string_view device, std::string_view link) {
  return uniform_cluster(workers, *find_device(device), *find_link(link));
}

TEST(Comparison, FindsThatAllWorkersHelpALargeNetwork) {
  const auto made = compare_plans(network("alexnet"), cluster_of(4, "pi4", "gigabit"), {});
  ASSERT_TRUE(made.ok());
  EXPECT_GT(made->speedup(), 2);
  const Advice advice = advise(*made);
  EXPECT_EQ(advice.use, Use::kAll);
  EXPECT_EQ(advice.used, 4u);
  EXPECT_EQ(advice.all, 4u);
}

TEST(Comparison, SaysByHowMuchSeveralWorkersAreSlowerWhereOneIsFastest) {
  const ClusterProfile cluster = cluster_of(4, "pi4", "gigabit");
  auto made = *compare_plans(network("lenet5"), cluster, {.excluded = {1, 2, 3}});
  EXPECT_EQ(advise(made).use, Use::kOne);
  EXPECT_EQ(advise(made).used, 1u);
  EXPECT_EQ(advise(made).times_slower, 0);

  const auto several = *compare_plans(network("lenet5"), cluster, {});
  ASSERT_GT(workers_of(several.best().plan()).size(), 1u);
  made.plans.push_back(several.best());
  made.plans.back().timeline.seconds = 3 * made.best().timeline.seconds;
  EXPECT_DOUBLE_EQ(advise(made).times_slower, 3);
}

TEST(Comparison, KnowsAClusterOfOne) {
  const auto made = compare_plans(network("lenet5"), cluster_of(1, "pi4", "gigabit"), {});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(advise(*made).use, Use::kOnlyWorker);
  EXPECT_DOUBLE_EQ(made->speedup(), 1);
}

TEST(Comparison, TakesTheFastestWorkerThatIsNotExcludedForTheSingleOne) {
  ClusterProfile cluster = cluster_of(3, "pi4", "gigabit");
  cluster.workers[1] = find_device("pi5")->profile();
  const Graph graph = network("lenet5");
  EXPECT_EQ(workers_of(plan_for_best(graph, cluster, {})->plan.plan()), std::vector<int>{1});
  EXPECT_EQ(workers_of(plan_for_best(graph, cluster, {1, 2})->plan.plan()), std::vector<int>{0});
  EXPECT_FALSE(plan_for_best(graph, cluster, {0, 1, 2}).ok());
}

// The fastest worker is no yardstick if it cannot hold the model.
TEST(Comparison, TakesAWorkerThatHasTheMemoryForTheSingleOne) {
  ClusterProfile cluster = cluster_of(3, "pi4", "gigabit");
  cluster.workers[1] = find_device("pi5")->profile();
  const Graph graph = network("lenet5");
  cluster.workers[1].memory_bytes = 1e5;
  const auto small = plan_for_best(graph, cluster, {});
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_TRUE(small->has_memory);
  EXPECT_EQ(workers_of(small->plan.plan()), std::vector<int>{0});
}

TEST(Comparison, KnowsThatNoWorkerHasTheMemoryAlone) {
  ClusterProfile cluster = cluster_of(4, "pi4", "gigabit");
  for (WorkerProfile& worker : cluster.workers) worker.memory_bytes = 170e6;
  const auto made = compare_plans(network("alexnet"), cluster, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_FALSE(made->single_fits);
  EXPECT_TRUE(fits(cluster, made->best()));
  EXPECT_EQ(advise(*made).use, Use::kTogether);
  const auto streams = compare_streams(network("alexnet"), cluster, {});
  ASSERT_TRUE(streams.ok()) << streams.status().message();
  EXPECT_FALSE(streams->single_fits);
  EXPECT_EQ(advise(*streams).use, Use::kTogether);
  EXPECT_GT(streams->single_per_second, 0);
}

TEST(Comparison, LeavesOutWorkersThatCouldNotBeMeasured) {
  ClusterProfile cluster = cluster_of(3, "pi4", "gigabit");
  cluster.workers[0] = absent_worker("kitchen");
  const auto made = compare_plans(network("alexnet"), cluster, {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  for (const Prediction& plan : made->plans) {
    EXPECT_EQ(std::ranges::count(workers_of(plan.plan()), 0), 0) << plan.name;
  }
  EXPECT_EQ(workers_of(made->single.plan()), std::vector<int>{1});
  EXPECT_EQ(advise(*made).all, 2u);
  const auto streams = compare_streams(network("alexnet"), cluster, {});
  ASSERT_TRUE(streams.ok()) << streams.status().message();
  for (const StreamPrediction& plan : streams->plans) {
    EXPECT_EQ(plan.stream.compute_seconds[0], 0) << plan.name;
  }
}

TEST(Slowdown, IsThatOfAFairShareOfTheCores) {
  EXPECT_EQ(slowdown({.cores = 4, .threads = 2, .others = 0}), 1);
  EXPECT_EQ(slowdown({.cores = 4, .threads = 2, .others = 2}), 1);
  EXPECT_EQ(slowdown({.cores = 4, .threads = 4, .others = 4}), 2);
  EXPECT_EQ(slowdown({.cores = 0, .threads = 1, .others = -3}), 1) << "what a peer may say";
}

TEST(Comparison, CountsAHardlyFasterPlanAsNoGain) {
  auto made = *compare_plans(network("alexnet"), cluster_of(2, "pi4", "gigabit"), {});
  made.single.timeline.seconds = made.best().timeline.seconds * (kWorthwhileSpeedup - 1e-3);
  EXPECT_EQ(advise(made).use, Use::kNoGain);
  made.single.timeline.seconds = made.best().timeline.seconds * (kWorthwhileSpeedup + 1e-3);
  EXPECT_EQ(advise(made).use, Use::kAll);
}

TEST(Comparison, SplitsWhatAPlanTakesMoreIntoComputingAndWaiting) {
  const auto made = *compare_plans(network("alexnet"), cluster_of(4, "pi4", "gigabit"), {});
  ASSERT_GT(made.plans.size(), 1u);
  const Difference more = difference(made.plans[1], made.best());
  EXPECT_NEAR(more.compute_seconds + more.wait_seconds,
              made.plans[1].timeline.seconds - made.best().timeline.seconds, 1e-12);
  EXPECT_EQ(difference(made.best(), made.best()).compute_seconds, 0);
}

TEST(Comparison, TakesMeasuredTimes) {
  const auto made = *compare_plans(network("lenet5"), cluster_of(2, "pi4", "gigabit"), {});
  Timeline single = made.single.timeline, best = made.best().timeline;
  single.seconds = 3;
  best.seconds = 2;
  best.wire_bytes = 0;
  const Comparison measured = with_measured(made, single, best);
  EXPECT_EQ(measured.speedup(), 1.5);
  EXPECT_EQ(measured.best().timeline.wire_bytes, made.best().timeline.wire_bytes);
  EXPECT_EQ(measured.best().name, made.best().name);
  EXPECT_EQ(measured.plans.size(), made.plans.size());
}

TEST(WithoutSpare, LeavesOutAsManyWorkersAsMayBeLost) {
  const PlanOptions two = without_spare({.survive = 2}, 5);
  EXPECT_EQ(two.survive, 0);
  EXPECT_EQ(two.excluded, (std::vector<int>{4, 3}));
  const PlanOptions others = without_spare({.excluded = {4}, .survive = 1}, 5);
  EXPECT_EQ(others.excluded, (std::vector<int>{4, 3})) << "one that takes part";
  EXPECT_EQ(without_spare({}, 5).excluded, std::vector<int>());
}

TEST(Survival, NeedsOneWorkerMoreThanLosses) {
  EXPECT_TRUE(check_survival(1, 0, 0).ok());
  EXPECT_TRUE(check_survival(3, 1, 1).ok());
  EXPECT_FALSE(check_survival(3, 1, 2).ok());
  EXPECT_FALSE(check_survival(1, 5, 1).ok());
}

TEST(StreamComparison, FindsReplicasOfUseAndLeavesOneWorkerOutWhereForced) {
  const StreamOptions options{.stages = false};
  const auto made = compare_streams(network("lenet5"), cluster_of(4, "pi4", "gigabit"), options,
                                    /*forced=*/true);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(advise(*made).use, Use::kAll);
  EXPECT_GT(made->speedup(), 3);
  for (const StreamPrediction& plan : made->plans) EXPECT_FALSE(plan.name.starts_with("one"));
  const Period period = period_of(made->best());
  EXPECT_NEAR(period.seconds * made->best().requests_per_second(), 1, 1e-9);
  EXPECT_LE(period.compute_seconds, period.seconds * 1.001);
}

TEST(StreamComparison, ExplainsItselfInWords) {
  auto made = *compare_streams(network("lenet5"), cluster_of(2, "pi4", "gigabit"), {});
  StreamPrediction& best = made.plans[0];
  best.stream.answered = {1, 2, 3, 4};
  best.stream.compute_seconds = {4, 2};
  best.stream.transfer_seconds = {0.4, 0.8};
  EXPECT_EQ(why_slower(best),
            "its busiest worker computes 1000.0 ms and its busiest link is in use 200.0 ms for "
            "every request");
  made.single_per_second = best.requests_per_second();
  EXPECT_EQ(advice_text(made),
            "More devices do not help: one worker alone answers every 1000.0 ms.");
}

TEST(StreamComparison, SaysHowManyWorkersAStreamUses) {
  const StreamOptions options{.stages = false, .excluded = {3}};
  const auto made = compare_streams(network("lenet5"), cluster_of(4, "pi4", "gigabit"), options);
  ASSERT_TRUE(made.ok());
  const Advice advice = advise(*made);
  EXPECT_EQ(advice.use, Use::kSome);
  EXPECT_EQ(advice.used, 3u);
}

TEST(Presets, MakeClustersOfTexts) {
  EXPECT_EQ(find_cluster("pi4")->workers.size(), 1u);
  const auto four = find_cluster("4xnexus5/wifi-43.8");
  ASSERT_TRUE(four.ok()) << four.status().message();
  EXPECT_EQ(four->workers.size(), 4u);
  EXPECT_EQ(four->coordinator, find_link("wifi-43.8")->profile(0));
  for (const char* wrong :
       {"", "/", "4x/gigabit", "0xpi4/gigabit", "1001xpi4/gigabit", "pi4/gigabit", "4pi4/gigabit",
        "-1xpi4/gigabit", "4xpi4/string", "99999999999999999999xpi4/gigabit"}) {
    EXPECT_EQ(find_cluster(wrong).status().code(), Code::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace shoal::plan
