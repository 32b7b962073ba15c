#include "shoal/video/watch/output/answer_text.h"

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

TEST(AnswerText, OfAFrameNameBoxesAndIdentities) {
  EXPECT_EQ(to_json(two_boxes(), {}, "door").dump(),
            R"({"boxes":[{"class":2,"h":6.0,"id":7,"score":0.5,"w":3.0,"x":1.0,"y":2.0},)"
            R"({"class":0,"h":2.0,"score":0.25,"w":2.0,"x":0.0,"y":0.0}],)"
            R"("frame":3,"looked":true,"name":"3.png","source":"door","time_ms":1.5})");
  EXPECT_EQ(text_of(two_boxes(), kNames, "door "),
            "door 3.png: c2, 0.50, at 1,2, 3 x 6, id 7\ndoor 3.png: c0, 0.25, at 0,0, 2 x 2\n");
}

TEST(AnswerText, OfEventsSayWhatBelongsToTheirKind) {
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

}  // namespace
}  // namespace shoal::watch
