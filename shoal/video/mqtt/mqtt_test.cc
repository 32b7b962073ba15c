#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "shoal/video/mqtt/client.h"
#include "shoal/video/mqtt/reporter.h"

namespace shoal::mqtt {
namespace {

TEST(Brokers, AreReadFromAUrlOrRefused) {
  EXPECT_EQ(*parse_broker("mqtt://host"), (Broker{.host = "host"}));
  EXPECT_EQ(*parse_broker("mqtts://a:b:c@[::1]:99/x/y"), (Broker{.host = "::1",
                                                                 .port = 99,
                                                                 .tls = true,
                                                                 .user = "a",
                                                                 .password = "b:c",
                                                                 .prefix = "x/y"}));
  EXPECT_EQ(parse_broker("mqtts://h")->port, 8883);
  EXPECT_EQ(parse_broker("mqtt://u@h")->user, "u");
  for (const char* url : {"", "host", "http://h", "mqtt://", "mqtt://:1", "mqtt://h:", "mqtt://h:0",
                          "mqtt://h:x", "mqtt://h:70000", "mqtt://[::1", "mqtt://h/", "mqtt://h/a#",
                          "mqtt://[::1]x", "mqtt://h:1 "}) {
    EXPECT_EQ(parse_broker(url).status().code(), Code::kInvalidArgument) << url;
  }
}

TEST(Cameras, HaveNamesOfTheirOwnWithoutSecrets) {
  EXPECT_EQ(camera_names({"rtsp://me:secret@door:554/h264?key=secret", "clips/street.mp4",
                          "other/street.avi", "/dev/video0", "zoo:scene", "frames/", "///", "+/#"}),
            (std::vector<std::string>{"door_554_h264", "street", "street_2", "video0", "zoo_scene",
                                      "frames", "camera", "camera_2"}));
}

std::string number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find("\"" + key + "\":");
  return at == std::string::npos ? "" : text.substr(at + key.size() + 3, 8);
}

watch::FrameAnswer answer_with(size_t frame, std::vector<int64_t> ids) {
  watch::FrameAnswer answer{.frame = frame, .time_us = static_cast<int64_t>(frame) * 1000000};
  for (const int64_t id : ids) {
    answer.seen.push_back(
        {.detection = {.label = id % 2, .score = 0.5F, .box = {4, 4, 6, 6}}, .id = id});
  }
  return answer;
}

class MqttReports : public ::testing::Test {
 protected:
  // The messages after a frame with these objects, as "topic=payload"; of JSON only the type.
  std::vector<std::string> run(size_t frame, std::vector<int64_t> ids, double now = 0) {
    std::vector<std::string> texts;
    const auto events = activity_.update(answer_with(frame, std::move(ids)));
    for (const Message& message : reporter_.report(0, activity_, events, now)) {
      last_ = message;
      const bool is_event = message.topic == "p/events";
      EXPECT_EQ(message.retain, !is_event);
      const bool json = message.payload.starts_with("{");
      texts.push_back(message.topic + "=" +
                      (json ? number_after(message.payload, "event") : message.payload));
    }
    return texts;
  }

  const watch::Zone zone_{"step", {{0, 0}, {9, 0}, {9, 9}, {0, 9}}};
  watch::Activity activity_{{.zones = {zone_}, .max_missed = 0}};
  Reporter reporter_{{.prefix = "p",
                      .cameras = {"door"},
                      .class_name = [](int64_t label) { return label == 0 ? "cat" : "hot dog"; },
                      .zones = {zone_}}};
  Message last_;
};

TEST_F(MqttReports, AnnounceACountOnceAndPublishItWhenItChanges) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(run(0, {}), Texts{});
  EXPECT_EQ(run(1, {1}),
            (Texts{"p/events=\"appeare", "p/events=\"entered",
                   "homeassistant/sensor/p_door/hot_dog/config=", "p/door/hot_dog=1",
                   "homeassistant/sensor/p_door/step_hot_dog/config=", "p/door/step/hot_dog=1"}));
  EXPECT_NE(last_.topic, "");
  EXPECT_EQ(run(2, {1}), Texts{});
  EXPECT_EQ(run(3, {1, 3}), (Texts{"p/events=\"appeare", "p/events=\"entered", "p/door/hot_dog=2",
                                   "p/door/step/hot_dog=2"}));
  EXPECT_EQ(run(4, {}).size(), 6u);  // both leave the zone and vanish, and two counts are 0
  EXPECT_EQ(last_, (Message{"p/door/step/hot_dog", "0", true, 0}));
  EXPECT_EQ(run(5, {}, 29), Texts{});
  EXPECT_EQ(run(6, {}, 31), (Texts{"p/door/hot_dog=0", "p/door/step/hot_dog=0"}));
}

// Whatever happens, who adds up what was published knows what is there.
TEST_F(MqttReports, AddUpToWhatIsThere) {
  std::mt19937 rng(5);
  std::map<std::string, std::string> states;
  int open = 0;
  for (size_t frame = 0; frame < 2000; ++frame) {
    std::vector<int64_t> ids;
    for (int64_t id = 1; id <= 6; ++id) {
      if (rng() % 3 != 0) ids.push_back(id);
    }
    const auto events = activity_.update(answer_with(frame, ids));
    for (const Message& message : reporter_.report(0, activity_, events, 0)) {
      if (message.retain) states[message.topic] = message.payload;
      if (message.topic == "p/events")
        open += message.payload.starts_with("{\"type\":\"new") ? 1 : 0;
      if (message.topic == "p/events")
        open -= message.payload.starts_with("{\"type\":\"end") ? 1 : 0;
    }
    const auto odd = static_cast<size_t>(std::ranges::count_if(ids, [](auto i) { return i % 2; }));
    EXPECT_EQ(states["p/door/hot_dog"], std::to_string(odd));
    EXPECT_EQ(states["p/door/step/cat"], std::to_string(ids.size() - odd));
    EXPECT_EQ(open, std::ssize(ids));
  }
}

}  // namespace
}  // namespace shoal::mqtt
