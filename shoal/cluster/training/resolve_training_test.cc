#include <gtest/gtest.h>

#include "shoal/cluster/training/train_ranks.h"

namespace shoal::train_cluster {
namespace {

fit::TrainingOptions complete() {
  fit::TrainingOptions fit;
  fit.model = "zoo:mlp";
  fit.data = "d";
  fit.format = "npy";
  return fit;
}

TEST(TogetherOptions, AreTheDefaultsOfTheLibrary) {
  const Options usual;
  const auto options = resolve({}, complete(), 0);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->fit.model, "zoo:mlp");
  EXPECT_EQ(options->steps, usual.steps);
  EXPECT_EQ(options->levels, usual.levels);
  EXPECT_EQ(options->local_steps, usual.local_steps);
  EXPECT_EQ(options->codec, usual.codec);
  EXPECT_EQ(options->keep_awake, usual.keep_awake);
  EXPECT_EQ(options->all_workers, usual.all_workers);
  EXPECT_EQ(options->fixed_shares, usual.fixed_shares);
  EXPECT_EQ(options->slack, usual.slack);
}

TEST(TogetherOptions, AreReadFromSettings) {
  const learn::TogetherSettings settings{.steps = 7,
                                         .codec = "auto",
                                         .micro_batches = 16,
                                         .all_workers = true,
                                         .let_sleep = true,
                                         .measured = true,
                                         .slack = 2};
  const auto options = resolve(settings, complete(), 5);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->steps, 7);
  EXPECT_EQ(options->local_steps, 5);
  EXPECT_EQ(options->levels, 4);
  EXPECT_FALSE(options->codec) << "it is chosen";
  EXPECT_TRUE(options->all_workers);
  EXPECT_FALSE(options->keep_awake);
  EXPECT_EQ(options->fixed_shares, false);
  EXPECT_EQ(options->slack, 2);
}

TEST(TogetherOptions, OfRanksHaveACheckpointOnlyWhereOneIsAskedFor) {
  Options options;
  options.fit.checkpoint = "usual.checkpoint";
  EXPECT_TRUE(for_ranks(options, false).fit.checkpoint.empty());
  EXPECT_EQ(for_ranks(options, true).fit.checkpoint, "usual.checkpoint");
  options.fit.resume = true;
  EXPECT_EQ(for_ranks(options, false).fit.checkpoint, "usual.checkpoint");
}

TEST(TogetherOptions, AreChecked) {
  fit::TrainingOptions odd = complete();
  odd.batch = 12;
  EXPECT_EQ(resolve({}, odd, 1).status().code(), Code::kInvalidArgument)
      << "12 examples are no 8 equal micro-batches";
}

}  // namespace
}  // namespace shoal::train_cluster
