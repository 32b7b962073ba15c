// Two plans that are measured while one worker is slow.
#include "shoal/cluster/benchmarks/straggler_race.h"

#include <gtest/gtest.h>

#include <set>

#include "here.h"

namespace shoal::cluster {
namespace {

plan::Prediction plan_that_survives(const Graph& graph, int survive) {
  return (*plan::make_plans(graph, slow_workers(3), {.survive = survive}))[0];
}

class StragglerRaces : public testing::Test {
 protected:
  void SetUp() override {
    auto race =
        StragglerRace::deploy(cluster_.coordinator(), coded_, plan_that_survives(graph_, 0));
    ASSERT_TRUE(race.ok()) << race.status().message();
    race_ = *std::move(race);
  }
  // One round without a slow worker and without sleeping.
  StragglerOptions one_round() {
    return {.seconds = 0,
            .slow_down =
                [this](const std::string& worker) {
                  slow_.push_back(worker);
                  return Status();
                },
            .pause = [this](StragglerOptions::Seconds time) { pauses_.push_back(time.count()); }};
  }

  Cluster cluster_{3};
  const Graph graph_ = wide_layers();
  const plan::Prediction coded_ = plan_that_survives(graph_, 1);
  std::unique_ptr<StragglerRace> race_;
  std::vector<std::string> slow_;
  std::vector<double> pauses_;
};

TEST_F(StragglerRaces, AskBothPlansOfEveryRound) {
  const auto result = race_->run(one_round());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->first.count(), 1u);
  EXPECT_EQ(result->second.count(), 1u);
  EXPECT_GT(result->first.mean(), 0);
  EXPECT_EQ(cluster_.coordinator().tally().answered, 2u);
}

TEST_F(StragglerRaces, SlowDownWorkersAtRandom) {
  for (int round = 0; round < 30; ++round) ASSERT_TRUE(race_->run(one_round()).ok());
  ASSERT_EQ(slow_.size(), 30u);
  EXPECT_EQ(std::set(slow_.begin(), slow_.end()),
            (std::set<std::string>{"worker-0", "worker-1", "worker-2"}));
}

TEST_F(StragglerRaces, PauseUntilTheSlowWorkerIsDone) {
  StragglerOptions options = one_round();
  options.times = 4;
  options.dilation = 0.5;
  ASSERT_TRUE(race_->run(options).ok());
  ASSERT_EQ(pauses_, std::vector<double>{4 * coded_.timeline.longest_task() * 0.5});
  EXPECT_GT(pauses_[0], 0);
}

TEST_F(StragglerRaces, GiveTimesOfTheEmulatedWorld) {
  StragglerOptions options = one_round();
  options.dilation = 1e9;
  const auto result = race_->run(options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_LT(result->first.max(), 1e-3) << "a quarter of an hour of this one";
}

TEST_F(StragglerRaces, EndWhereNoWorkerCanBeSlowedDown) {
  StragglerOptions options = one_round();
  options.slow_down = [](const std::string&) { return invalid("nobody is slow"); };
  EXPECT_EQ(race_->run(options).status().message(), "nobody is slow");
  EXPECT_EQ(cluster_.coordinator().tally().answered, 0u);
}

TEST_F(StragglerRaces, SayWhichWorkerIsGone) {
  cluster_.worker(0).stop();
  cluster_.worker(1).stop();
  EXPECT_EQ(race_->run(one_round()).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace shoal::cluster
