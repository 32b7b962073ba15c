#include "shoal/train/federated/federated_facts.h"

#include <gtest/gtest.h>

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
