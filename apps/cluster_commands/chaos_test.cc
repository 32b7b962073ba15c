#include "apps/cluster_commands/chaos.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/cluster/chaos/processes/train_chaos.h"

namespace shoal::chaos {
namespace {

TEST(ChaosSettings, AreDescribed) {
  ChaosSettings settings;
  const SettingList all = joined({fault_settings(settings), request_settings(settings)});
  expect_described(all);
}

TEST(ChaosSettings, KillWhereNoFaultIsNamed) {
  const auto usual = completed({}, false);
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual->run.faults.kills, 10U);
  EXPECT_EQ(usual->run.faults.sum(), 10U);
  EXPECT_EQ(completed({}, true)->run.faults.sum(), 0U) << "none is what was asked for";
}

TEST(ChaosSettings, TakeAllKindsForATime) {
  const auto endless = completed({.run = {.seconds = 3}}, false);
  ASSERT_TRUE(endless.ok());
  EXPECT_GT(endless->run.faults.corruptions, 0U);
  EXPECT_EQ(endless->overload.seconds, 3);
}

TEST(ChaosSettings, LeaveOverloadAlone) {
  const auto overloaded = completed({.overload = {.times = 10}}, false);
  ASSERT_TRUE(overloaded.ok());
  EXPECT_EQ(overloaded->run.faults.sum(), 0U);
}

TEST(ChaosSettings, AreTheClusterToOpen) {
  const ChaosSettings settings{
      .cluster = "c.toml", .dilation = 3, .lies = 5, .verify = 7, .run = {.seed = 11}};
  const ChaosClusterOptions options = cluster_options(settings, "shoal");
  EXPECT_EQ(options.program, "shoal");
  EXPECT_EQ(options.cluster_file, "c.toml");
  EXPECT_EQ(options.dilation, 3);
  EXPECT_EQ(options.seed, 11U);
  EXPECT_EQ(options.lies, 5U);
  EXPECT_EQ(options.verify, 7U);
  EXPECT_TRUE(options.workers.empty()) << "they are added";
  EXPECT_TRUE(settings.is_emulated());
  EXPECT_FALSE(ChaosSettings().is_emulated());
}

TEST(ChaosSettings, FindLiarsWhereRequestsAreChecked) {
  const auto finds = [](uint64_t lies, uint64_t verify) {
    return ChaosSettings{.lies = lies, .verify = verify}.finds_liars();
  };
  EXPECT_TRUE(finds(100, 10));
  EXPECT_FALSE(finds(0, 10));
  EXPECT_FALSE(finds(100, 0));
}

TEST(ChaosSettings, HaveAPageOfProcessesOnly) {
  EXPECT_TRUE(completed({.html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.sim = true, .html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.overload = {.times = 2}, .html = "a.html"}, false).ok());
}

TEST(ChaosFacts, CountWhatBecameOfRequests) {
  ChaosReport report;
  report.answered = 1234;
  report.failed = 2;
  report.calm.add(1.25);
  report.kinds = {{"killed", 3}};
  EXPECT_EQ(to_json(report)["kinds"].dump(), R"({"killed":3})");
  EXPECT_EQ(to_json(report)["answered"].dump(), "1234");
  const auto rows = rows_of(report);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0][1].cell, "1");
  EXPECT_EQ(rows[0][4].cell, fixed(report.calm.max(), 1));
  EXPECT_EQ(lines_of(report),
            std::vector<std::string>{"faults: 0; answered meanwhile: 1234, failed "
                                     "2, wrong 0, replayed 0"});
  report.checked = 10;
  report.disputed = 1;
  report.left_out = {"worker-2"};
  report.asked_until_left_out = 5;
  EXPECT_EQ(lines_of(report).at(1), "checked: 10 requests, 1 of them disputed");
  EXPECT_EQ(lines_of(report).at(2),
            "left out: worker-2, because it lied; found after 5 requests; wrong since: 0");
}

TEST(ChaosFacts, ShowWorkersWhileARunGoesOn) {
  const ChaosReport report;
  const std::vector<std::string> names = {"a", "long"};
  const ChaosProgress progress{.report = report,
                               .seconds = 1.5,
                               .faults = 1,
                               .latest = "a killed",
                               .victim = 0,
                               .names = names,
                               .present = {false, true}};
  const auto lines = lines_of(progress);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "1.5 s  latest: a killed");
  EXPECT_EQ(lines[1], "  a     lost   killed");
  EXPECT_EQ(lines[2], "  long  there");
  EXPECT_EQ(lines[3], "0 answered, 0 failed, 0 wrong");
  EXPECT_EQ(line_of(progress), "1.5 s: a killed; 0 answered, 0 failed, 0 wrong");
}

TEST(ChaosFacts, TellOfEachFaultOnce) {
  const ChaosReport report;
  const std::vector<std::string> names = {"a"};
  ChaosProgress progress{.report = report, .latest = {}, .names = names, .present = {}};
  FaultLines lines;
  EXPECT_EQ(lines.next(progress), "") << "there was no fault";
  progress.faults = 1;
  progress.latest = "a killed";
  EXPECT_EQ(lines.next(progress), line_of(progress));
  EXPECT_EQ(lines.next(progress), "");
  progress.faults = 3;  // two between two requests
  EXPECT_EQ(lines.next(progress), line_of(progress));
  EXPECT_EQ(lines.next(progress), "");
}

TEST(ChaosFacts, NoteDevicesThatAreLate) {
  ChaosReport report;
  for (int i = 0; i < 100; ++i) report.calm.add(10);
  EXPECT_EQ(note_lateness(report, 10), "");
  EXPECT_NE(note_lateness(report, 8).find(" % longer than predicted"), std::string::npos);
}

TEST(OverloadFacts, AddUpFaults) {
  OverloadReport report;
  report.capacity_per_s = 100;
  report.answered_per_s = 80;
  report.offered_per_s = 1000;
  report.late = 3;
  Json json = to_json(report, {{"killed", 2}, {"stopped", 1}});
  EXPECT_EQ(json["faults"].dump(), "3");
  EXPECT_EQ(json["goodput"].dump(), "0.8");
  EXPECT_EQ(rows_of(report, {}).size(), 3u);
  EXPECT_EQ(lines_of(report, {}),
            (std::vector<std::string>{
                "1000 requests/s offered, 80 answered: 80 % of the 100 without overload",
                "late 3, failed 0, wrong 0; as before after 0.00 s"}));
}

TEST(Verdict, OfChaosForgivesLiesUntilTheLiarIsFound) {
  using Kind = Verdict::Kind;
  ChaosReport report;
  EXPECT_EQ(report.verdict(false).kind, Kind::kKept);
  EXPECT_EQ(report.verdict(true).why, "the worker that lies was not found");
  report.wrong = 3;
  EXPECT_EQ(report.verdict(false).kind, Kind::kWrong);
  report.left_out = {"worker-4"};
  EXPECT_EQ(report.verdict(true).kind, Kind::kKept);
  report.wrong_after = 1;
  EXPECT_EQ(report.verdict(true).why, "answers are wrong");
  report = {};
  report.failed = 1;
  report.first_failure = "timeout";
  EXPECT_EQ(report.verdict(false).kind, Kind::kFailed);
  EXPECT_EQ(report.verdict(false).why, "timeout");
}

TEST(Verdict, OfOverloadIsAboutWrongAnswersFirst) {
  OverloadReport report;
  report.late = report.refused = 9;
  EXPECT_EQ(report.verdict().kind, Verdict::Kind::kKept) << "overload may refuse";
  report.failed = 1;
  EXPECT_EQ(report.verdict().kind, Verdict::Kind::kFailed);
  report.wrong = 1;
  EXPECT_EQ(report.verdict().kind, Verdict::Kind::kWrong);
}

TEST(ChaosSetup, IsTheSameForTheSameSeed) {
  const cluster::TrainingSetup setup = chaos_setup({}, learn::CodecKind::kF16, 7);
  EXPECT_EQ(setup.exchange.codec.kind, learn::CodecKind::kF16);
  EXPECT_EQ(setup.exchange.codec.seed, 7u) << "so that a run can be repeated";
  EXPECT_GT(setup.trainer.optimizer.rate, 0);
}

TEST(Verdict, OfTrainingIsAboutWeights) {
  TrainChaosReport report;
  EXPECT_EQ(report.verdict(false).kind, Verdict::Kind::kKept) << "a codec may lose something";
  EXPECT_EQ(report.verdict(true).why, "kills changed what was learned");
  report.is_equal = true;
  EXPECT_EQ(report.verdict(true).kind, Verdict::Kind::kKept);
  report.differing = 1;
  EXPECT_EQ(report.verdict(true).why, "the weights of workers differed");
  Json json = object_of(facts_of(report));
  EXPECT_EQ(json["weights_equal"].dump(), "true");
  EXPECT_EQ(json["replicas_differed"].dump(), "1");
}

}  // namespace
}  // namespace shoal::chaos
