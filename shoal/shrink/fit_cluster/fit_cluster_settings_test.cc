#include "shoal/shrink/fit_cluster/fit_cluster_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::fit_cluster {
namespace {

FitSettings complete() {
  FitSettings settings;
  settings.options.out = "fitted.onnx";
  return settings;
}

TEST(FitSettings, TryAllWaysUnlessSomeAreNamed) {
  FitSettings settings = complete();
  expect_described(settings_of(settings));
  const auto all = resolve(settings, {});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->ways, FitOptions().ways);
  EXPECT_EQ(all->time, (shrink::TimeTarget{.share = 0.5}));
  settings.ways = {"smaller", "branches"};
  settings.target = "ms=40";
  settings.distill = 0.25F;
  fit::TrainingOptions recipe;
  recipe.checkpoint = "c";
  const auto some = resolve(settings, recipe);
  ASSERT_TRUE(some.ok()) << some.status().message();
  EXPECT_EQ(some->ways, (std::set<Way>{Way::kSmaller, Way::kBranches}));
  EXPECT_EQ(some->time, (shrink::TimeTarget{.ms = 40}));
  EXPECT_EQ(some->recipe.loss.distill, 0.25F);
  EXPECT_EQ(some->recipe.checkpoint, "");
}

TEST(FitSettings, NeedATime) {
  FitSettings settings = complete();
  settings.target = "macs=0.5";
  EXPECT_EQ(resolve(settings, {}).status().message(), "--target is a time: ms=40 or ms=0.5x");
  settings.target = "soon";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::fit_cluster
