#include "shoal/cluster/chaos/processes/chaos_run.h"

#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/search/planner.h"

namespace shoal::chaos {
namespace {

constexpr int kWorkers = 3;

// So slow, and so well connected, that every plan uses all of them.
plan::ClusterProfile slow_workers() {
  plan::ClusterProfile profile;
  for (int i = 0; i < kWorkers; ++i) {
    profile.workers.push_back(plan::uniform_worker("worker-" + std::to_string(i), 1, 1));
    profile.links.emplace_back();
  }
  return profile;
}

// A cluster of real processes that survives `survive` losses.
class Chaos : public testing::Test {
 protected:
  void open(int survive, uint64_t lies = 0, uint64_t verify = 0) {
    const auto graph = passes::optimize(*zoo::build("lenet5", {}));
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ChaosClusterOptions options{.program = SHOAL_PROGRAM, .lies = lies, .verify = verify};
    for (const auto& worker : slow_workers().workers) options.workers.push_back(worker.name);
    options.plan = [graph = *graph, survive](const cluster::Workers& set) {
      plan::PlanOptions wanted;
      wanted.survive = std::min(survive, static_cast<int>(set.size()) - 1);
      for (int w = 0; w < kWorkers; ++w) {
        if (!set.contains(w)) wanted.excluded.push_back(w);
      }
      auto plans = plan::make_plans(graph, slow_workers(), wanted);
      return plans.ok() ? Result<plan::Prediction>(plans->front()) : plans.status();
    };
    auto cluster = ChaosCluster::open(*graph, *device_, options);
    ASSERT_TRUE(cluster.ok()) << cluster.status().message();
    cluster_ = *std::move(cluster);
  }

  ChaosReport run(const ChaosRunOptions& options) {
    return run_chaos(options, *cluster_, [&](const ChaosProgress& progress) {
      ++watched_;
      EXPECT_EQ(progress.present.size(), static_cast<size_t>(kWorkers));
    });
  }

  const std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
  std::unique_ptr<ChaosCluster> cluster_;
  int watched_ = 0;
};

TEST_F(Chaos, OfNoFaultsIsCalm) {
  ASSERT_NO_FATAL_FAILURE(open(1));
  EXPECT_EQ(cluster_->present(), std::vector<bool>(kWorkers, true));
  const ChaosReport report = run({.requests = 5});
  EXPECT_EQ(report.answered, 5u);
  EXPECT_EQ(report.failed + report.wrong + report.replayed, 0u);
  EXPECT_EQ(report.returns.count(), 0u);
  EXPECT_EQ(watched_, 15) << "before, in place of faults, and after";
}

TEST_F(Chaos, FindsAWorkerThatLies) {
  ASSERT_NO_FATAL_FAILURE(open(1, 10, 1));
  // A busy machine drops checks: then it takes more requests.
  ChaosReport report;
  for (int i = 0; i < 20 && report.left_out.empty(); ++i) report = run({.requests = 100});
  EXPECT_EQ(report.left_out, std::vector<std::string>{"worker-2"});
  EXPECT_EQ(report.failed + report.wrong_after, 0u) << report.first_failure;
  EXPECT_GE(report.disputed, 2u);
  EXPECT_GE(report.checked, report.disputed);
}

TEST_F(Chaos, LosesNothingWhereOneLossIsSurvived) {
  ASSERT_NO_FATAL_FAILURE(open(1));
  const ChaosReport report =
      run({.faults = {.kills = 1, .stops = 1, .partitions = 1, .drops = 1}, .requests = 20});
  EXPECT_EQ(report.answered, 20u);
  EXPECT_EQ(report.failed + report.wrong, 0u) << report.first_failure;
  EXPECT_EQ(report.returns.count(), 4u);
  EXPECT_EQ(report.kinds.at("killed"), 1u);
  EXPECT_EQ(report.kinds.at("stopped"), 1u);
  EXPECT_GT(report.recovery_ms_max, 0);
}

// That faults do hit requests.
TEST_F(Chaos, ReplaysRequestsWithoutProtection) {
  ASSERT_NO_FATAL_FAILURE(open(0));
  const ChaosReport report =
      run({.faults = {.kills = 2, .stops = 1}, .where = "computing", .requests = 15});
  EXPECT_EQ(report.answered, 15u) << report.first_failure;
  EXPECT_EQ(report.wrong, 0u);
  EXPECT_EQ(report.at_points, 3u) << "every worker computes";
  EXPECT_EQ(report.replayed, 3u);
}

TEST_F(Chaos, CanGoOnForATime) {
  ASSERT_NO_FATAL_FAILURE(open(1));
  const ChaosReport report = run({.faults = {.drops = 1}, .seconds = 0.001});
  EXPECT_EQ(report.returns.count(), 1u) << "a round is ended";
  EXPECT_EQ(report.requests, 10u);
}

TEST_F(Chaos, SurvivesOverload) {
  ASSERT_NO_FATAL_FAILURE(open(1));
  std::map<std::string, uint64_t> kinds;
  const OverloadReport report = overload_cluster({.times = 4, .clients = 40, .seconds = 2},
                                                 {.faults = {.kills = 1}}, *cluster_, kinds);
  EXPECT_GT(report.answered, 0u);
  EXPECT_GT(report.refused, 0u);
  EXPECT_EQ(report.failed + report.wrong, 0u) << report.first_failure;
  EXPECT_GE(kinds.at("killed"), 1u);
}

}  // namespace
}  // namespace shoal::chaos
