#include "apps/commands/training/train.h"

#include <gtest/gtest.h>

#include <limits>

#include "shoal/base/text/setting_testing.h"

namespace shoal::fit {
namespace {

TEST(TrainingFacts, NameTheLastEpoch) {
  TrainingResult result;
  result.progress.results = {{.loss = 2}, {.loss = 0.5}};
  result.progress.seconds = 12.5;
  result.images_per_second = 100;
  Json json = to_json(result);
  EXPECT_EQ(json["epochs"].dump(), "2");
  EXPECT_EQ(json["loss"].dump(), "0.5");
  EXPECT_EQ(json["seconds"].dump(), "12.5");
  EXPECT_EQ(json.dump().find("epsilon"), std::string::npos);
  EXPECT_EQ(to_json({})["loss"].dump(), "0.0") << "no epoch has ended";
}

TEST(TrainingFacts, SayWhatPrivacyCost) {
  TrainingResult result;
  result.images_per_second = 100;
  result.privacy = privacy::PrivacySpent{.epsilon = std::numeric_limits<double>::infinity(),
                                         .delta = 1e-5,
                                         .sample_rate = 0.0125,
                                         .steps = 7,
                                         .clipped = 0.5,
                                         .plain_images_per_second = 250};
  Json json = to_json(result);
  EXPECT_EQ(json["epsilon"].dump(), "null");
  EXPECT_EQ(json["dp_steps"].dump(), "7");
  std::vector<std::string> cells;
  for (const Fact& fact : facts_of(*result.privacy, result.images_per_second)) {
    cells.push_back(fact.cell);
  }
  EXPECT_EQ(cells,
            (std::vector<std::string>{"inf", "1e-05", "7", "1.250 %", "50.0 %", "2.5 x the time"}));
  EXPECT_EQ(facts_of(*result.privacy, 0).back().cell, "not measured");
}

TEST(TrainingTexts, TellOfStepsAndEpochs) {
  TrainingProgress progress;
  EXPECT_EQ(text_of({.progress = progress, .loss = 0.25, .top1 = 91.234}),
            "loss 0.2500, top-1 91.23 %");
  progress.results = {{}, {.loss = 1, .top1 = 50, .held_out_loss = 2, .held_out_top1 = 40}};
  EXPECT_EQ(text_of_epoch(progress),
            "epoch 2: loss 1.0000, top-1 50.00 %; held out: loss 2.0000, top-1 40.00 %");
}

}  // namespace
}  // namespace shoal::fit

namespace shoal::federated {
namespace {

TEST(FederatedFacts, KnowNoAccuracyThatNobodyMeasured) {
  Figures figures;
  figures.rounds = 2;
  figures.history.resize(2);
  figures.history[0].top1 = figures.history[1].top1 = -1;
  const Facts facts = facts_of(figures, {.strategy = "fedavg", .clients = 3, .per_round = 2});
  EXPECT_EQ(facts[2].cell, "unknown");
  const std::string json = object_of(facts).dump();
  EXPECT_NE(json.find(R"("top1":null,"top1_by_round":[null,null])"), json.npos) << json;
  EXPECT_NE(json.find(R"("strategy":"fedavg")"), json.npos) << json;
  EXPECT_EQ(json.find("secure"), json.npos) << json;
  figures.history[1].top1 = 50;
  EXPECT_NE(facts_of(figures, {})[2].cell, "unknown");
}

TEST(FederatedFacts, CompareASecretSumWithAnOpenOne) {
  Figures figures;
  figures.rounds = 2;
  figures.secret.bytes = 300;
  figures.secret.plain_bytes = 200;
  const std::string json = object_of(facts_of(figures, {.secret = true})).dump();
  EXPECT_NE(json.find(R"("secure_bytes":150.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("secure_traffic":1.5)"), json.npos) << json;
}

TEST(FederatedFacts, SayWhatARoundDid) {
  RoundReport round;
  round.round = 3;
  round.loss = 0.5;
  round.invited = 4;
  round.reported = 2;
  round.stragglers = 1;
  round.left = 1;
  round.top1 = -1;
  EXPECT_EQ(text_of(round), "round 3: loss 0.5000; 2 of 4 reported, 1 late, 1 left");
  round.top1 = 12.5;
  EXPECT_TRUE(text_of(round).ends_with("left; held out: top-1 12.50 %"));
}

}  // namespace
}  // namespace shoal::federated

namespace shoal::learn {
namespace {

const Setting& named(const SettingList& all, const std::string& name) {
  return *std::ranges::find_if(all, [&](const Setting& one) { return one.name == name; });
}

TEST(TogetherSettings, NeedACluster) {
  TogetherSettings settings;
  const SettingList all = settings_of(settings);
  expect_described(all);
  for (const Setting& setting : all) {
    EXPECT_EQ(setting.needs.empty(), setting.name == "codec") << setting.name;
  }
}

TEST(TogetherSettings, HaveMicroBatchesThatArePowersOfTwo) {
  TogetherSettings settings;
  const SettingList all = settings_of(settings);
  const Setting& count = named(all, "micro-batches");
  for (const char* good : {"1", "2", "4096"}) EXPECT_TRUE(count.check(good).ok()) << good;
  for (const char* bad : {"0", "3", "8192", "-4", "many"}) EXPECT_FALSE(count.check(bad).ok());
}

}  // namespace
}  // namespace shoal::learn

namespace shoal::federated {
namespace {

TEST(Scenario, HasSettingsThatNeedFederatedTraining) {
  ScenarioSettings settings;
  const SettingList all = settings_of(settings);
  expect_described(all);
  EXPECT_EQ(all[0].name, "federated");
  for (const Setting& setting : all) {
    // The steps that are taken alone are those of workers without --federated, too.
    const bool alone = setting.name == "federated" || setting.name == "local-steps";
    EXPECT_EQ(setting.needs.empty(), alone) << setting.name;
  }
}

TEST(Scenario, OfWorkersHasNoSimulatedClients) {
  ScenarioSettings settings;
  std::string refused;
  for (const Setting& setting : settings_of(settings)) {
    const Status status = check_for_workers(
        [&](const std::string& flag) { return flag == "--" + setting.name; }, "own");
    if (!status.ok()) refused += setting.name + " ";
  }
  EXPECT_EQ(refused,
            "clients split classes-per-client stragglers present leaving step-seconds slowest ");
  const auto none = [](const std::string&) { return false; };
  EXPECT_TRUE(check_for_workers(none, "own").ok());
  EXPECT_EQ(check_for_workers(none, "mpi").message(), "ranks of MPI have no data");
}

}  // namespace
}  // namespace shoal::federated
