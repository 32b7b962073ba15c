#include "shoal/video/watch/output/watch_facts.h"

#include <gtest/gtest.h>

namespace shoal::watch {
namespace {

FrameAnswer two_boxes() {
  FrameAnswer answer{.frame = 3, .name = "3.png", .time_us = 1500};
  answer.seen.push_back({.detection = {.label = 2, .score = 0.5F, .box = {1, 2, 4, 8}}, .id = 7});
  answer.seen.push_back({.detection = {.label = 0, .score = 0.25F, .box = {0, 0, 2, 2}}});
  return answer;
}

const Annotation kNames = {.class_name = [](int64_t label) { return "c" + std::to_string(label); }};

TEST(WatchFacts, OfAFrameNameBoxesAndIdentities) {
  EXPECT_EQ(to_json(two_boxes(), {}, "door").dump(),
            R"({"boxes":[{"class":2,"h":6.0,"id":7,"score":0.5,"w":3.0,"x":1.0,"y":2.0},)"
            R"({"class":0,"h":2.0,"score":0.25,"w":2.0,"x":0.0,"y":0.0}],)"
            R"("frame":3,"looked":true,"name":"3.png","source":"door","time_ms":1.5})");
  EXPECT_EQ(text_of(two_boxes(), kNames, "door "),
            "door 3.png: c2, 0.50, at 1,2, 3 x 6, id 7\ndoor 3.png: c0, 0.25, at 0,0, 2 x 2\n");
}

TEST(WatchFacts, OfEventsSayWhatBelongsToTheirKind) {
  const Event crossed{.kind = EventKind::kCrossed, .id = 4, .place = "gate", .forwards = false};
  const Event left{.kind = EventKind::kLeft, .id = 4, .place = "yard", .frames = 5, .seconds = 2.5};
  EXPECT_EQ(to_json(crossed).dump(),
            R"({"class":0,"direction":"backwards","event":"crossed","id":4,"place":"gate"})");
  EXPECT_EQ(to_json(left).dump(),
            R"({"class":0,"event":"left","frames":5,"id":4,"place":"yard","seconds":2.5})");
  EXPECT_EQ(text_of({crossed, left}, kNames),
            "c0 4 crossed gate backwards\nc0 4 left yard after 2.5 s\n");
  const std::string line = to_json(FrameAnswer(), {left}, "a").dump();
  EXPECT_NE(line.find(R"("events":[{)"), line.npos);
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
