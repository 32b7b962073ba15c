// Images, clusters and training in words. Devices and recipes are in task_file_test.cc.
#include <gtest/gtest.h>

#include <cstdlib>

#include "apps/commands/model_settings.h"
#include "apps/commands/plans/cluster_file.h"
#include "apps/commands/plans/plan_settings.h"
#include "apps/commands/training/shrink.h"
#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"
#include "shoal/plan/device_presets.h"

namespace shoal::config {
namespace {

TEST(ConfigSettings, AreDescribed) {
  ShrinkRecipe recipe = usual_shrink_recipe();
  PlanSettings plan;
  ClusterSettings cluster;
  ImageSettings image;
  fit::TrainingOptions& options = recipe.training.options;
  expect_described(joined({settings_of(recipe.device, true), recipe_settings(recipe.training),
                           settings_of(recipe.shrink), settings_of(image)}));
  expect_described(joined({network_settings(recipe.training), loss_settings(options),
                           privacy_settings(options.privacy), checkpoint_settings(options)}));
  expect_described(joined({network_settings(plan), {search_setting(plan)}, settings_of(cluster)}));
}

class ImageSettingsTest : public testing::Test {
 protected:
  ImageSettingsTest() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  ~ImageSettingsTest() override { ::unsetenv("XDG_CONFIG_HOME"); }

  static bool all(const std::string&) { return true; }
  static bool none(const std::string&) { return false; }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
};

TEST_F(ImageSettingsTest, OverrideWhatWasBeforeOnlyWhereGiven) {
  const Preprocess before{.resize = 9, .mean = {1}, .nhwc = true};
  const auto kept = resolve({.image = {.resize = 5}}, before, none);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->resize, 9);
  EXPECT_EQ(kept->mean, before.mean);
  EXPECT_TRUE(kept->nhwc);
  const auto given = resolve({.image = {.resize = 5}, .layout = "nchw"}, before, all);
  ASSERT_TRUE(given.ok());
  EXPECT_EQ(given->resize, 5);
  EXPECT_TRUE(given->mean.empty());
  EXPECT_FALSE(given->nhwc);
}

TEST_F(ImageSettingsTest, OverrideAPresetAndAreKept) {
  const auto given = [](const std::string& flag) { return flag == "--crop"; };
  const auto image =
      resolve({.image = {.crop = 200}, .preset = "imagenet", .save_as = "mine"}, {}, given);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->crop, 200);
  EXPECT_EQ(image->resize, 256);
  const auto again = resolve({.preset = "mine"}, {}, none);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->crop, 200);
  EXPECT_EQ(resolve({.preset = "other"}, {}, none).status().code(), Code::kNotFound);
  EXPECT_FALSE(resolve({.save_as = "../mine"}, {}, none).ok());
}

TEST(ClusterSettings, AreEqualDevicesOrAFile) {
  const auto cluster = make_cluster({.workers = 3, .device = "pi3", .link = "ethernet-100"});
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->workers.size(), 3u);
  for (const ClusterSettings& wrong :
       {ClusterSettings{.device = "abacus"}, ClusterSettings{.link = "string"},
        ClusterSettings{.file = "/nowhere.toml"}}) {
    EXPECT_FALSE(make_cluster(wrong).ok());
  }
}

TEST(ClusterSettings, AreTheSameClusterAsAFile) {
  const TemporaryFolder folder = *TemporaryFolder::make();
  const auto path = folder.path() / "cluster.toml";
  for (const plan::DevicePreset& device : plan::device_presets()) {
    for (const plan::LinkPreset& link : plan::link_presets()) {
      const ClusterSettings settings{
          .workers = 2, .device = std::string(device.name), .link = std::string(link.name)};
      ASSERT_TRUE(write_file(path, to_toml(settings)).ok());
      const auto described = make_cluster(settings), read = make_cluster({.file = path});
      ASSERT_TRUE(described.ok() && read.ok()) << to_toml(settings);
      ASSERT_EQ(read->workers.size(), 2u);
      EXPECT_EQ(read->workers[1].name, described->workers[1].name);
      EXPECT_EQ(read->workers[1].memory_bytes, described->workers[1].memory_bytes);
      EXPECT_EQ(read->links, described->links);
      EXPECT_EQ(read->coordinator, described->coordinator);
    }
  }
}

TEST(ClusterSettings, ListWhatPlansKnow) {
  ClusterSettings settings;
  const SettingList all = settings_of(settings, "worker", "How many");
  EXPECT_EQ(all[0].help, "How many");
  EXPECT_EQ(all[1].name, "worker");
  EXPECT_NE(all[1].help.find("pi3"), std::string::npos);
  EXPECT_NE(all[2].help.find("gigabit"), std::string::npos);
}

TEST(TrainingSettings, HaveACheckpointWhereAFileIsWritten) {
  EXPECT_EQ(resolve(TrainingSettings(), "m", {}).checkpoint, "");
}

TEST(ShrinkRecipe, HasTheBoundsOfFlags) {
  const std::string source = "model = \"m.onnx\"\ndata = \"d\"\nformat = \"npy\"\n";
  for (const char* wrong : {"epochs = 0", "seconds = 4000", "max-drop = 101", "method = \"luck\"",
                            "device = \"abacus\"", "rate = -1", "loaders = 2"}) {
    ShrinkRecipe recipe = usual_shrink_recipe();
    EXPECT_FALSE(parse_shrink_recipe(source + wrong, "r.toml", recipe).ok()) << wrong;
  }
  for (const char* right : {"rate = 0", "resize = 0", "crop = 0", "instructions = \"\"",
                            "device = \"pi4\"", "layout = \"nhwc\"", "channels = 3"}) {
    ShrinkRecipe recipe = usual_shrink_recipe();
    const Status status = parse_shrink_recipe(source + right, "r.toml", recipe);
    EXPECT_TRUE(status.ok()) << right << ": " << status.message();
  }
}

}  // namespace
}  // namespace shoal::config
