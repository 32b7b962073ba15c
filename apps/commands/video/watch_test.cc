#include "apps/commands/video/watch.h"

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

TEST(LookWords, SayNothingByThemselves) {
  const auto options = LookWords().options();
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->head || options->delta || options->key_frames);
  EXPECT_FALSE(options->motion || options->rectangular);
}

TEST(LookWords, BecomeOptions) {
  const auto exact = LookWords{.delta = "0", .rectangular = true}.options();
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(exact->delta, 0.0F);
  EXPECT_TRUE(exact->rectangular);
  const auto keys = LookWords{.key_frames = "5", .motion = "codec"}.options();
  ASSERT_TRUE(keys.ok());
  EXPECT_TRUE(keys->key_frames.has_value());
  EXPECT_TRUE(keys->motion);
}

TEST(LookWords, RefuseWhatExcludesEachOther) {
  for (const LookWords& words :
       {LookWords{.delta = "auto", .key_frames = "5"}, LookWords{.motion = "codec"},
        LookWords{.key_frames = "5", .rectangular = true}, LookWords{.delta = "many"},
        LookWords{.key_frames = "x"}}) {
    EXPECT_EQ(words.options().status().code(), Code::kInvalidArgument);
  }
}

TEST(WatchFacts, OfAStreamCountWhatWasComputed) {
  const WatchResult result{.frames = 4, .skipped = 2, .seconds = 2};
  EXPECT_EQ(to_json(result, 0.5).dump(),
            R"({"changed":0.0,"fps":2.0,"frames":4,"latency_ms_p50":0.0,"latency_ms_p99":0.0,)"
            R"("macs_share":0.25,"skipped":2})");
}

TEST(WatchFacts, OfSeveralStreamsAreThoseOfAllAndOfEach) {
  const StreamResults results{.all = {.frames = 4, .skipped = 1, .seconds = 2, .latency_ms_p50 = 3},
                              .each = {{.frames = 3}, {.frames = 1, .skipped = 1}}};
  EXPECT_EQ(text_of(results.all), "4 frames, 1 of them not looked at; 2.0 frames/s, 3.00 ms each");
  const Json more = {{"place", "here"}};
  Json json = to_json(results, 0.5, {{"door", 0.25}, {"yard", 1, more}});
  EXPECT_EQ(json["frames"].dump(), "4");
  EXPECT_EQ(json["macs_share"].dump(), "0.375");
  Json first = to_json(results.each[0], 0.25), second = to_json(results.each[1], 1);
  first["source"] = "door";
  second["source"] = "yard";
  second["place"] = "here";
  EXPECT_EQ(json["sources"][0].dump(), first.dump());
  EXPECT_EQ(json["sources"][1].dump(), second.dump());
}

TEST(WatchFacts, OfPlacesAreByName) {
  PlaceTotals totals;
  totals.zones["yard"] = {.entered = 2, .seconds = 1.5};
  totals.lines["gate"] = {.forwards = 1, .backwards = 3};
  EXPECT_EQ(to_json(totals).dump(), R"({"lines":{"gate":{"backwards":3,"forwards":1}},)"
                                    R"("zones":{"yard":{"entered":2,"seconds":1.5}}})");
}

}  // namespace
}  // namespace shoal::watch

namespace shoal::mqtt {
namespace {

TEST(SinkOptions, AreDescribed) {
  SinkOptions options;
  expect_described(settings_of(options));
}

}  // namespace
}  // namespace shoal::mqtt
