#include "shoal/train/distributed/run/together_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::learn {
namespace {

const Setting& named(const SettingList& all, const std::string& name) {
  return *std::ranges::find_if(all, [&](const Setting& one) { return one.name == name; });
}

TEST(TogetherSettings, NeedACluster) {
  TogetherSettings settings;
  const SettingList all = settings_of(settings);
  expect_described(all);
  for (const Setting& setting : all) {
    EXPECT_EQ(setting.needs.empty(), setting.name == "codec") << setting.name;
  }
}

TEST(TogetherSettings, CountMicroBatchesInPowersOfTwo) {
  TogetherSettings settings;
  EXPECT_EQ(settings.levels(), 3);
  for (int level = 0; level <= 12; ++level) {
    settings.micro_batches = int64_t{1} << level;
    EXPECT_EQ(settings.levels(), level);
  }
  const SettingList all = settings_of(settings);
  const Setting& count = named(all, "micro-batches");
  for (const char* good : {"1", "2", "4096"}) EXPECT_TRUE(count.check(good).ok()) << good;
  for (const char* bad : {"0", "3", "8192", "-4", "many"}) EXPECT_FALSE(count.check(bad).ok());
}

TEST(TogetherSettings, FixSharesWhereAskedTo) {
  TogetherSettings settings;
  EXPECT_EQ(settings.fixed_shares(), std::nullopt);
  settings.measured = true;
  EXPECT_EQ(settings.fixed_shares(), false);
  settings.fixed = true;
  EXPECT_EQ(settings.fixed_shares(), true);
}

}  // namespace
}  // namespace shoal::learn
