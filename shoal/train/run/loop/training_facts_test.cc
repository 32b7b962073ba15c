// Results for scripts and for people.
#include "shoal/train/run/loop/training_facts.h"

#include <gtest/gtest.h>

#include <limits>

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
