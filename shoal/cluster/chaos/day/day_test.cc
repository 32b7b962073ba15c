#include "shoal/cluster/chaos/day/day.h"

#include <gtest/gtest.h>

#include "shoal/cluster/chaos/small_model.h"
#include "shoal/plan/device_presets.h"

namespace shoal::chaos {
namespace {

// An hour in which every worker is lost several times.
constexpr DayOptions kRough{.hours = 1, .requests_per_second = 2, .losses = 100, .away_minutes = 2};

plan::ClusterProfile boards() {
  plan::ClusterProfile cluster =
      plan::uniform_cluster(20, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  for (size_t w = 0; w < 10; ++w) cluster.workers[w] = plan::find_device("pi5")->profile();
  // So slow that requests are on their way when workers are lost.
  for (plan::WorkerProfile& worker : cluster.workers) scale(worker, 1e5);
  return cluster;
}

DayReport live(const DayOptions& options) {
  const Graph graph = *make_small_model(8, 0);
  auto report = simulate_day(graph, boards(), options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return *std::move(report);
}

TEST(Day, FollowsFromItsSeed) {
  DayOptions half = kRough;
  half.hours = 0.5;
  half.losses = 20;
  DayOptions other = half;
  other.seed = 2;
  const DayReport once = live(half), again = live(half);
  EXPECT_EQ(once.hash, again.hash);
  EXPECT_NE(once.hash, live(other).hash);
}

TEST(Day, EndsEveryRequestOnce) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    DayOptions options = kRough;
    options.seed = seed;
    const DayReport report = live(options);
    EXPECT_EQ(report.answered + report.refused + report.failed, report.requests);
    EXPECT_EQ(report.latencies.count(), report.answered);
    EXPECT_EQ(report.teams, 3u);
    EXPECT_GT(report.requests, 1000u);
    EXPECT_GT(report.losses, 50u);
    EXPECT_GT(report.replayed, 0u) << "losses are to hit requests";
    EXPECT_GT(report.restored, 0u) << "workers are to come back";
    EXPECT_LT(report.failed, report.requests / 20) << "a loss costs a replay, not an answer";
  }
}

TEST(Day, LosesNothingWhereNobodyIsLost) {
  DayOptions calm = kRough;
  calm.losses = 0;
  const DayReport report = live(calm);
  // The first plans are being deployed when the first requests come: those wait or are refused.
  EXPECT_GT(report.answered, report.requests - 20);
  EXPECT_EQ(report.losses + report.joins + report.replayed, 0u);
}

TEST(Day, RefusesWhatIsTooMuch) {
  DayOptions much = kRough;
  much.hours = 0.05;
  much.requests_per_second = 500;
  const DayReport report = live(much);
  EXPECT_GT(report.refused, report.answered);
  EXPECT_GT(report.answered, 0u);
  EXPECT_EQ(report.answered + report.refused + report.failed, report.requests);
}

TEST(Day, ChecksOptions) {
  const Graph graph = *make_small_model(8, 0);
  for (const DayOptions& options : {DayOptions{.hours = 0}, DayOptions{.team_size = 0},
                                    DayOptions{.requests_per_second = -1}}) {
    EXPECT_EQ(simulate_day(graph, boards(), options).status().code(), Code::kInvalidArgument);
  }
}

TEST(DayFacts, CountPlansAndRequests) {
  DayReport report;
  report.requests = 123'456;
  report.losses = 1'200;
  report.searches = 3;
  Json json = object_of(facts_of(report, 64, 2.5));
  EXPECT_EQ(json["workers"].dump(), "64");
  EXPECT_EQ(json["requests"].dump(), "123456");
  EXPECT_EQ(json["seconds"].dump(), "2.5");
  const auto lines = lines_of(report, 2.5);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "1,200 losses, 0 joins; 3 plans searched, deployed 0 times and 0 times given back");
  EXPECT_EQ(lines[1].find("simulated in 2.5 s with "), 0u);
}

}  // namespace
}  // namespace shoal::chaos
