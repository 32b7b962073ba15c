#include "shoal/shrink/search/search_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::search {
namespace {

TEST(SearchSettings, AreTheDefaultsOfTheSearch) {
  SearchSettings settings;
  expect_described(settings_of(settings));
  settings.options.out = "found";
  fit::TrainingOptions recipe;
  recipe.epochs = 3;
  recipe.checkpoint = "c";
  const auto options = resolve(settings, recipe);
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(options->macs, SearchOptions().macs);
  EXPECT_EQ(options->recipe.epochs, 3);
  EXPECT_EQ(options->recipe.checkpoint, "") << "each network would write the same one";
}

TEST(SearchSettings, AreChecked) {
  SearchSettings settings;
  settings.options.out = "found";
  settings.options.device = "abacus";
  EXPECT_EQ(resolve(settings, {}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::search
