#include "shoal/shrink/exits/learning/exit_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::exits {
namespace {

TEST(ExitsSettings, AreDescribed) {
  ExitsSettings settings;
  expect_described(joined({exit_settings(settings), calibration_settings(settings)}));
}

TEST(ExitsSettings, AreTheDefaultsOfExits) {
  fit::TrainingOptions recipe;
  recipe.seed = 9;
  recipe.checkpoint = "c";
  const auto options = resolve({}, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->automatic, ExitsOptions().automatic);
  EXPECT_EQ(options->head.kind, HeadOptions().kind);
  EXPECT_EQ(options->head.seed, 9U);
  EXPECT_TRUE(options->norms);
  EXPECT_FALSE(options->max_drop);
  EXPECT_EQ(options->recipe.checkpoint, "");
  EXPECT_EQ(options->recipe.loss.temperature, recipe.loss.temperature);
  EXPECT_EQ(options->recipe.feature_cache_bytes, recipe.feature_cache_bytes);
}

TEST(ExitsSettings, AreRead) {
  ExitsSettings settings;
  settings.options.out = "multi.onnx";
  settings.at = {"auto:3"};
  settings.head = "pool";
  settings.no_norms = true;
  settings.max_drop = 0;
  settings.feature_cache_mb = 2;
  settings.loss.focal = 2;
  const auto options = resolve(settings, {});
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->automatic, 3u);
  EXPECT_EQ(options->head.kind, HeadOptions::Kind::kPool);
  EXPECT_EQ(options->max_drop, 0);
  EXPECT_FALSE(options->norms);
  EXPECT_EQ(options->recipe.feature_cache_bytes, 2'000'000u);
  EXPECT_EQ(options->recipe.loss.focal, 2);
  EXPECT_EQ(options->recipe.out, "multi.onnx");
  settings.at = {"auto:x"};
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::exits
