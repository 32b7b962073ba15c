#include "shoal/shrink/branches/branch_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"
#include "shoal/shrink/prune/shrink_options.h"

namespace shoal::branch {
namespace {

TEST(BranchSettings, LearnAsNetworksThatWereShrunk) {
  BranchSettings settings;
  expect_described(settings_of(settings));
  fit::TrainingOptions recipe = shrink::usual_recipe();
  recipe.out = "lcp.onnx";
  recipe.checkpoint = "c";
  const auto options = resolve(settings, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->out, "lcp.onnx");
  EXPECT_EQ(options->recipe.checkpoint, "");
  EXPECT_EQ(options->recipe.loss.distill, recipe.loss.distill);
  EXPECT_EQ(options->recipe.loss.temperature, recipe.loss.temperature);
  EXPECT_EQ(options->branches.merge, Merge::kAuto);
  EXPECT_FALSE(options->max_drop);
}

TEST(BranchSettings, AreRead) {
  BranchSettings settings;
  settings.distill = 0.25F;
  settings.fatten = "auto";
  settings.max_drop = 2;
  for (const auto& [word, merge] :
       {std::pair("sum", Merge::kSum), std::pair("concat", Merge::kConcat)}) {
    settings.merge = word;
    const auto options = resolve(settings, {});
    ASSERT_TRUE(options.ok()) << options.status().message();
    EXPECT_EQ(options->branches.merge, merge);
    EXPECT_EQ(options->recipe.loss.distill, 0.25F);
    EXPECT_EQ(options->max_drop, 2);
  }
  settings.fatten = "much";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

TEST(BranchSettings, NeedTheFormatOfData) {
  fit::TrainingOptions recipe;
  recipe.data = "d";
  EXPECT_EQ(resolve({}, recipe).status().message(), "data needs format");
  recipe.format = "npy";
  EXPECT_TRUE(resolve({}, recipe).ok());
}

}  // namespace
}  // namespace shoal::branch
