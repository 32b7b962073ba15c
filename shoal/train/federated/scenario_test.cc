#include "shoal/train/federated/scenario.h"

#include <gtest/gtest.h>

namespace shoal::federated {
namespace {

fit::TrainingOptions adam() {
  fit::TrainingOptions fit;
  fit.seed = 5;
  fit.batch = 64;
  fit.optimizer.rule = train::OptimizerOptions::Rule::kAdam;
  fit.optimizer.rate = 0.5f;
  fit.optimizer.momentum = 0.7f;
  return fit;
}

TEST(Scenario, IsThatOfFedProxUnlessFlagsSayOtherwise) {
  const auto none = [](const std::string&) { return false; };
  const Options usual = resolve({}, {}, none);
  EXPECT_EQ(usual.fit.batch, 10);
  EXPECT_EQ(usual.fit.epochs, 10);
  EXPECT_EQ(usual.fit.optimizer.rate, 0.03f);
  EXPECT_EQ(usual.fit.optimizer.momentum, 0);
  EXPECT_EQ(usual.fit.schedule, train::Schedule::Kind::kConstant);
  EXPECT_EQ(usual.population.stragglers, 0.9);
  EXPECT_EQ(usual.shards.split, ShardOptions::Split::kClasses);
  EXPECT_EQ(resolve({}, adam(), none).fit.optimizer.rate, 0.5f) << "the rate is that of SGD";
  const Options options = resolve({}, adam(), [](const std::string&) { return true; });
  EXPECT_EQ(options.fit.batch, 64);
  EXPECT_EQ(options.fit.optimizer.momentum, 0.7f);
  EXPECT_EQ(options.fit.schedule, fit::TrainingOptions().schedule);
  EXPECT_EQ(options.population.seed, 5U);
}

TEST(Scenario, ReadsWords) {
  const auto none = [](const std::string&) { return false; };
  ScenarioSettings settings;
  settings.split = "iid";
  EXPECT_EQ(resolve(settings, {}, none).shards.split, ShardOptions::Split::kIid);
  for (const std::string_view name : strategy_names()) {
    settings.strategy = name;
    const Strategy known = *find_strategy(settings.strategy);
    EXPECT_EQ(resolve(settings, {}, none).strategy.mu, known.mu) << name;
  }
  settings.mu = 0.25f;
  settings.deadline = 7;
  EXPECT_EQ(resolve(settings, {}, none).strategy.mu, 0.25f);
  EXPECT_EQ(resolve(settings, {}, none).population.deadline, 7);
}

TEST(Scenario, HasACodecThatIsKnownAndNoCheckpoint) {
  const auto none = [](const std::string&) { return false; };
  fit::TrainingOptions fit = adam();
  fit.checkpoint = "usual.checkpoint";
  const auto options = resolve({}, fit, none, "int8");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->codec, *learn::find_codec("int8"));
  EXPECT_TRUE(options->fit.checkpoint.empty());
  EXPECT_EQ(options->fit.optimizer.rate, 0.5f);
  EXPECT_EQ(resolve({}, fit, none, "auto").status().message(),
            "codec auto is for training without federated");
}

}  // namespace
}  // namespace shoal::federated
