#include "shoal/video/watch/run/watch_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::watch {
namespace {

TEST(WatchSettings, AreDescribed) {
  WatchSettings settings;
  expect_described(settings_of(settings));
}

TEST(WatchSettings, WaitForFramesInSeconds) {
  EXPECT_EQ(WatchSettings{.timeout = 0.25}.frame_timeout(), std::chrono::milliseconds(250));
}

TEST(WatchSettings, AreOptionsForAPurpose) {
  const WatchOptions plain = options_for({}, {});
  EXPECT_FALSE(plain.gate || plain.track || plain.at_once);
  EXPECT_EQ(plain.detector_timeout, std::chrono::milliseconds(0));
  EXPECT_TRUE(options_for({.gate = "auto"}, {}).gate);
  EXPECT_TRUE(options_for({}, {.activity = true}).track);
  EXPECT_TRUE(options_for({.options = {.track = true}}, {}).track) << "as it was asked for";
  EXPECT_TRUE(options_for({}, {.placed = true}).at_once);
  EXPECT_GT(options_for({}, {.on_cluster = true}).detector_timeout, std::chrono::seconds(1));
  EXPECT_EQ(options_for({.options = {.frames = 7}}, {}).frames, 7U);
}

TEST(WatchSettings, HaveADetectorOfTheirOwnForTheSceneOnly) {
  EXPECT_EQ(*detector_for("yolo.onnx", {"door.mp4", "zoo:scene"}), "yolo.onnx");
  EXPECT_EQ(*detector_for("", {"zoo:scene", "zoo:scene"}), "zoo:scene");
  EXPECT_EQ(detector_for("", {"zoo:scene", "door.mp4"}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::watch
