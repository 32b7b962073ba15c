#include "shoal/variants/catalog/specialists/specialise_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::catalog {
namespace {

TEST(SpecialiseSettings, PutFeaturesBesideTheFile) {
  SpecialiseSettings settings;
  expect_described(settings_of(settings));
  fit::TrainingOptions recipe;
  recipe.epochs = 3;
  recipe.out = "a/special.onnx";
  const SpecialiseOptions beside = resolve(settings, recipe);
  EXPECT_EQ(beside.out, "a/special.onnx");
  EXPECT_EQ(beside.cache, "a/special.features");
  EXPECT_EQ(beside.recipe.epochs, 3);
  settings.options.cache = "b";
  EXPECT_EQ(resolve(settings, recipe).cache, "b");
}

}  // namespace
}  // namespace shoal::catalog
