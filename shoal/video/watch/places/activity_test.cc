#include "shoal/video/watch/places/activity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>

namespace shoal::watch {
namespace {

using detect::Point;

double cross(const Point& a, const Point& b, const Point& p) {
  return (double{b.x} - a.x) * (double{p.y} - a.y) - (double{b.y} - a.y) * (double{p.x} - a.x);
}

Point any_point(std::mt19937& rng) {
  return {static_cast<float>(rng() % 100), static_cast<float>(rng() % 100)};
}

// Corners in the order of their angles from a point between them: no edge crosses another. Its
// inside is to the right of its edges.
Zone any_zone(std::mt19937& rng) {
  const Point middle{50.75F, 50.25F};
  for (;;) {
    Zone zone{"z"};
    for (size_t i = 0; i < 3 + rng() % 6; ++i) zone.corners.push_back(any_point(rng));
    std::ranges::sort(zone.corners, {}, [&](const Point& point) {
      return std::atan2(double{point.y} - middle.y, double{point.x} - middle.x);
    });
    bool around = true;
    for (size_t i = 0; i < zone.corners.size(); ++i) {
      const Point& next = zone.corners[(i + 1) % zone.corners.size()];
      around = around && cross(middle, zone.corners[i], next) > 0;
    }
    if (around) return zone;
  }
}

// Who crosses the edges of a zone inwards once more than outwards has got in.
TEST(Places, AZoneIsEnteredAcrossItsEdges) {
  std::mt19937 rng(1);
  int entered = 0;
  for (int round = 0; round < 20000; ++round) {
    const Zone zone = any_zone(rng);
    const Point p = any_point(rng), q = any_point(rng);
    int sum = 0;
    bool touches = p == q;
    for (size_t i = 0; i < zone.corners.size(); ++i) {
      const Line edge{"e", zone.corners[i], zone.corners[(i + 1) % zone.corners.size()]};
      touches = touches || cross(edge.from, edge.to, p) == 0 || cross(edge.from, edge.to, q) == 0 ||
                cross(p, q, edge.from) == 0;
      sum += crossing(edge, p, q);
      EXPECT_EQ(crossing(edge, q, p), -crossing(edge, p, q));
    }
    if (touches) continue;
    EXPECT_EQ(sum, int{contains(zone, q)} - int{contains(zone, p)}) << round;
    entered += sum != 0 ? 1 : 0;
  }
  EXPECT_GT(entered, 2000);
}

// On a line counts as its right side: who stops there crosses once.
TEST(Places, WhoStopsOnALineCrossesItOnce) {
  const Line line{"l", {10, 0}, {10, 20}};  // downwards: its right is the left of the image
  EXPECT_EQ(crossing(line, {20, 5}, {10, 5}), 1);
  EXPECT_EQ(crossing(line, {10, 5}, {0, 5}), 0);
  EXPECT_EQ(crossing(line, {10, 5}, {20, 5}), -1);
  EXPECT_EQ(crossing(line, {20, 30}, {0, 30}), 0);  // past its end
}

TEST(Places, AreReadFromTextOrRefused) {
  const auto zone = parse_zone("door=0,0,0.5,0,0.5,1");
  ASSERT_TRUE(zone.ok());
  EXPECT_EQ(in_pixels(*zone, 640, 480).corners[2], (Point{320, 480}));
  const auto line = parse_line("l-1=0,1,2,1");
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(in_pixels(*line, 640, 480).to, (Point{2, 1}));  // pixels
  for (const char* text :
       {"", "z", "=1,2,3,4,5,6", "z=", "z=1,2,3,4", "z=1,2,3,4,5", "a b=1,2,3,4,5,6",
        "z=1,2,3,4,5,x", "z=1,2,3,4,5,-6", "z=1,2,3,4,5,inf", "z=1,2,3,4,5,nan", "z=1,2,3,4,5,6,",
        "z=1,2,3,4,5;6", "z=1,2,3,4,5,1e99"}) {
    EXPECT_EQ(parse_zone(text).status().code(), Code::kInvalidArgument) << text;
  }
  for (const char* text : {"l=1,2,3", "l=1,2,1,2", "l=1,2,3,4,5,6", "l/x=1,2,3,4"}) {
    EXPECT_EQ(parse_line(text).status().code(), Code::kInvalidArgument) << text;
  }
}

Seen object_at(int64_t id, const Point& at) {
  return {.detection = {.label = id % 2, .box = {at.x - 1, at.y - 5, at.x + 1, at.y}}, .id = id};
}

// What one object should have done, counted from the frames in which it was seen.
struct Expected {
  size_t stays = 0, frames_inside = 0, visits = 0;
  int balance = 0;  // of crossings
};

// A frame that was dropped shows nobody's absence.
Expected expected_of(const std::vector<std::pair<size_t, Point>>& sightings, const Zone& zone,
                     const Line& line, size_t max_missed, const std::vector<size_t>& frames) {
  Expected sum;
  for (size_t i = 0; i < sightings.size(); ++i) {
    const auto& [frame, at] = sightings[i];
    const size_t before = i > 0 ? sightings[i - 1].first : 0;
    const bool continues = i > 0 && std::ranges::none_of(frames, [&, end = frame](size_t other) {
                             return other < end && other > before + max_missed;
                           });
    const bool was_inside = continues && contains(zone, sightings[i - 1].second);
    sum.visits += continues ? 0 : 1;
    sum.stays += contains(zone, at) && !was_inside ? 1 : 0;
    sum.frames_inside += was_inside ? frame - sightings[i - 1].first : 0;
    sum.balance += continues ? crossing(line, sightings[i - 1].second, at) : 0;
  }
  return sum;
}

// Objects that walk about and are hidden at times: everything that begins ends, and stays add up to
// the time spent inside.
TEST(Activity, AddsUpToWhatObjectsDid) {
  std::mt19937 rng(3);
  for (int round = 0; round < 40; ++round) {
    const Zone zone = any_zone(rng);
    const Line line{"l", any_point(rng), any_point(rng)};
    const size_t max_missed = rng() % 6;
    Activity activity({.zones = {zone}, .lines = {line}, .max_missed = max_missed});
    std::map<int64_t, std::vector<std::pair<size_t, Point>>> sightings;
    std::vector<Event> events;
    std::vector<size_t> frames;
    for (size_t frame = 0; frame < 300; frame += 1 + rng() % 2) {
      frames.push_back(frame);
      FrameAnswer answer{.frame = frame, .time_us = static_cast<int64_t>(frame) * 40000};
      for (int64_t id = 1; id <= 4; ++id) {
        if (rng() % 10 < 4 || frame / 50 % 2 == static_cast<size_t>(id % 2)) continue;
        const Point at = any_point(rng);
        sightings[id].emplace_back(frame, at);
        answer.seen.push_back(object_at(id, at));
      }
      std::ranges::copy(activity.update(answer), std::back_inserter(events));
    }
    std::ranges::copy(activity.end(), std::back_inserter(events));
    EXPECT_TRUE(activity.present().empty());
    std::map<int64_t, Expected> found;
    std::map<int64_t, int> open;  // visits and stays that have not ended
    for (const Event& event : events) {
      Expected& sum = found[event.id];
      sum.visits += event.kind == EventKind::kAppeared ? 1 : 0;
      sum.stays += event.kind == EventKind::kEntered ? 1 : 0;
      if (event.kind == EventKind::kCrossed) sum.balance += event.forwards ? 1 : -1;
      if (event.kind == EventKind::kAppeared || event.kind == EventKind::kEntered) ++open[event.id];
      if (event.kind == EventKind::kVanished || event.kind == EventKind::kLeft) --open[event.id];
      if (event.kind == EventKind::kLeft) {
        sum.frames_inside += event.frames;
        EXPECT_NEAR(event.seconds, static_cast<double>(event.frames) * 0.04, 1e-9);
      }
    }
    for (const auto& [id, seen] : sightings) {
      const Expected wanted = expected_of(seen, zone, line, max_missed, frames);
      EXPECT_EQ(found[id].visits, wanted.visits);
      EXPECT_EQ(found[id].stays, wanted.stays);
      EXPECT_EQ(found[id].frames_inside, wanted.frames_inside);
      EXPECT_EQ(found[id].balance, wanted.balance);
      EXPECT_EQ(open[id], 0);
    }
  }
}

TEST(Activity, CountsByClassZoneAndDirection) {
  Activity activity({.zones = {{"z", {{0, 0}, {50, 0}, {50, 100}, {0, 100}}}},
                     .lines = {{"l", {50, 0}, {50, 100}}},
                     .max_missed = 2});
  const auto run = [&](size_t frame, std::vector<Seen> seen) {
    std::string text;
    for (const Event& event : activity.update({.frame = frame, .seen = std::move(seen)})) {
      text += std::string(name_of(event.kind)) + std::to_string(event.id) + " ";
    }
    return text;
  };
  EXPECT_EQ(run(0, {object_at(1, {10, 9}), object_at(3, {60, 9}), object_at(0, {9, 9})}),
            "appeared1 entered1 appeared3 ");
  EXPECT_EQ(activity.present(), (Counts{{1, 2}}));
  EXPECT_EQ(activity.present_in(0), (Counts{{1, 1}}));
  EXPECT_EQ(run(1, {object_at(1, {55, 9}), object_at(3, {40, 9}), object_at(2, {90, 9})}),
            "crossed1 left1 crossed3 entered3 appeared2 ");
  EXPECT_EQ(activity.present(), (Counts{{0, 1}, {1, 2}}));
  EXPECT_EQ(activity.crossed(0, true), (Counts{{1, 1}}));
  EXPECT_EQ(activity.crossed(0, false), (Counts{{1, 1}}));
  EXPECT_EQ(run(3, {}), "");
  EXPECT_EQ(run(4, {object_at(2, {90, 9})}), "vanished1 left3 vanished3 ");
}

}  // namespace
}  // namespace shoal::watch
