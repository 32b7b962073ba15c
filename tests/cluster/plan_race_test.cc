// Two plans that are measured in turns.
#include "shoal/cluster/benchmarks/plan_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "here.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/choices.h"

namespace shoal::cluster {
namespace {

class Races : public testing::Test {
 protected:
  plan::Prediction plan_for(const Graph& graph, const std::set<int>& workers) const {
    return *plan::make_plan_for(workers, graph, slow_workers(3), {});
  }

  Cluster cluster_{3};
  const Graph graph_ = wide_layers();
};

TEST_F(Races, MeasureBothPlansInEveryRound) {
  auto race = PlanRace::deploy(cluster_.coordinator(), {plan_for(graph_, {0})},
                               {plan_for(graph_, {0, 1, 2})});
  ASSERT_TRUE(race.ok()) << race.status().message();
  int requests = 0, rounds = 0;
  const auto result = (*race)->run(
      {.seconds = 0, .before_request = [&] { ++requests; }, .progress = [&](double) { ++rounds; }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->rounds, 3u);
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(requests, 7) << "one before them finds caches cold";
  EXPECT_EQ(cluster_.coordinator().tally().answered, 7u);
  EXPECT_GT(result->first.compute_seconds[0], 0);
  EXPECT_EQ(result->first.compute_seconds[1], 0);
  for (double seconds : result->second.compute_seconds) EXPECT_GT(seconds, 0);
  EXPECT_LE(result->first.compute_seconds[0], result->first.seconds);
}

// In the time of a world that is a million times slower, all of this is over in no time.
TEST_F(Races, GiveTimesOfTheEmulatedWorld) {
  auto race =
      PlanRace::deploy(cluster_.coordinator(), {plan_for(graph_, {0})}, {plan_for(graph_, {1, 2})});
  ASSERT_TRUE(race.ok()) << race.status().message();
  const auto result = (*race)->run({.seconds = 0, .dilation = 1e6});
  ASSERT_TRUE(result.ok()) << result.status().message();
  for (const plan::Timeline& timeline : {result->first, result->second}) {
    EXPECT_LT(timeline.seconds, 1e-3);
    for (const auto& tasks : timeline.tasks) {
      for (const plan::Span& task : tasks) EXPECT_LT(task.end, 1e-3);
    }
    for (const plan::Span& transfer : timeline.transfers) EXPECT_LT(transfer.end, 1e-3);
    for (double seconds : timeline.compute_seconds) EXPECT_LT(seconds, 1e-3);
  }
}

TEST_F(Races, GiveNoTimesOfWrongAnswers) {
  Graph other;
  ValueId x = other.add_input("x", graph_[graph_.inputs()[0]].type);
  other.mark_output(*other.add(ops::neg, {x}));
  auto race =
      PlanRace::deploy(cluster_.coordinator(), {plan_for(graph_, {0})}, {plan_for(other, {1})});
  ASSERT_TRUE(race.ok()) << race.status().message();
  EXPECT_EQ((*race)->run({.seconds = 0}).status().code(), Code::kInternal);
}

// What was measured before a loss is about other plans.
TEST_F(Races, BeginAgainWhenAWorkerIsLost) {
  const auto on = [this](const Workers& set) {
    return plan::make_plan_for(set, graph_, slow_workers(3), {});
  };
  auto race = PlanRace::deploy(cluster_.coordinator(),
                               {plan_for(graph_, {0}), [&](const Workers&) { return on({0}); }},
                               {plan_for(graph_, {0, 1, 2}), on});
  ASSERT_TRUE(race.ok()) << race.status().message();
  // Until then a request may be answered by a plan that was deployed for this loss.
  const auto is_planned_again = [&] {
    return plan::workers_of((*race)->second().plan()) == std::vector<int>{0, 1};
  };
  int rounds = 0;
  const auto result = (*race)->run({.seconds = 0, .progress = [&](double) {
                                      if (++rounds != 2) return;
                                      cluster_.worker(2).stop();
                                      EXPECT_TRUE(eventually(is_planned_again));
                                    }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(is_planned_again());
  EXPECT_EQ(result->second.tasks.size(), (*race)->second().plan().segments.size());
  EXPECT_EQ(result->second.compute_seconds[2], 0);
  EXPECT_GT(rounds, 3);
}

TEST_F(Races, FailWhereAWorkerIsLostAndNobodyPlansAgain) {
  auto race = PlanRace::deploy(cluster_.coordinator(), {plan_for(graph_, {0})},
                               {plan_for(graph_, {0, 1, 2})});
  ASSERT_TRUE(race.ok()) << race.status().message();
  cluster_.worker(2).stop();
  EXPECT_FALSE((*race)->run({.seconds = 0}).ok());
}

TEST(GenerousTimeout, IsBetweenAMinuteAndADay) {
  EXPECT_EQ(generous_timeout(0), std::chrono::minutes(1));
  EXPECT_EQ(generous_timeout(2), std::chrono::seconds(70));
  EXPECT_EQ(generous_timeout(1e18), std::chrono::hours(24));
}

TEST_F(Races, TakeFourRoundsAtLeast) {
  auto race =
      PlanRace::deploy(cluster_.coordinator(), {plan_for(graph_, {0})}, {plan_for(graph_, {1, 2})});
  ASSERT_TRUE(race.ok()) << race.status().message();
  EXPECT_DOUBLE_EQ((*race)->least_seconds(), 4 * (plan_for(graph_, {0}).timeline.seconds +
                                                  plan_for(graph_, {1, 2}).timeline.seconds));
}

}  // namespace
}  // namespace shoal::cluster
