#include "shoal/watch/watch_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/setting_testing.h"

namespace shoal::watch {
namespace {

TEST(WatchSettings, AreDescribed) {
  WatchSettings settings;
  expect_described(settings_of(settings));
}

TEST(WatchSettings, WaitForFramesInSeconds) {
  EXPECT_EQ(WatchSettings{.timeout = 0.25}.frame_timeout(), std::chrono::milliseconds(250));
}

}  // namespace
}  // namespace shoal::watch
