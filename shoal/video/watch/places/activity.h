// Activity: what objects do in successive frames: appear, vanish, enter and leave zones, cross
// lines.
//
// An object is where its foot is. It has vanished after a number of frames without it; until then
// it is where it was last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/detect/detection.h"
#include "shoal/video/watch/run/watch.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// Places in an image: zones (polygons) and lines.
//
// With side(A, B; P) = the sign of (B - A) x (P - A), where 0 counts as +, a path from P to Q
// crosses the line from A to B if P and Q are on different sides of the line, and A and B on
// different sides of the path. Forwards is from - to +: from the left to the right as seen from A
// towards B, with y pointing down.

// A polygon; the last corner is joined to the first.
struct Zone {
  std::string name;
  std::vector<detect::Point> corners = {};  // at least three
};

// From one point to another.
struct Line {
  std::string name;
  detect::Point from = {}, to = {};
};

// Where an object stands: the middle of the lower edge of its box.
detect::Point foot(const detect::Box& box);

// Whether a point is in a zone: a ray from it crosses an odd number of edges. Pure.
bool contains(const Zone& zone, const detect::Point& point);

// The crossing of a line by a path from p to q: 1 forwards, -1 backwards, 0 none. Pure.
int crossing(const Line& line, const detect::Point& p, const detect::Point& q);

// "NAME=x,y,x,y,x,y" and "NAME=x,y,x,y". kInvalidArgument for too few numbers, or negative,
// infinite or missing ones; for an empty name, or characters other than letters, digits, - and _.
Result<Zone> parse_zone(std::string_view text);
Result<Line> parse_line(std::string_view text);

// The same place in pixels of an image of this size: coordinates that are all at most 1 are shares
// of the image, others are pixels already.
Zone in_pixels(const Zone& zone, int64_t width, int64_t height);
Line in_pixels(const Line& line, int64_t width, int64_t height);

// What happens.
enum class EventKind : uint8_t { kAppeared, kVanished, kEntered, kLeft, kCrossed };

// "appeared" and so on.
std::string_view name_of(EventKind kind);

// Something that an object did.
struct Event {
  EventKind kind = EventKind::kAppeared;
  size_t source = 0, frame = 0;  // when: of a vanished object, where it was last
  int64_t time_us = 0;
  int64_t id = 0;
  detect::Detection detection = {};
  std::string place = {};  // the zone or the line
  bool forwards = true;    // kCrossed: which way
  // kLeft: how long it was in the zone. kVanished: how long it was there.
  size_t frames = 0;
  double seconds = 0;
};

// Where to look, and when an object has vanished. A value.
struct ActivityOptions {
  std::vector<Zone> zones = {};
  std::vector<Line> lines = {};
  size_t max_missed = 30;  // frames without it until an object has vanished
};

// How many objects, by class.
using Counts = std::map<int64_t, size_t>;

// Of one stream. A value. Thread-compatible.
class Activity {
 public:
  // Without objects.
  explicit Activity(ActivityOptions options = {});

  // What happened until the next frame. Objects without an identity do nothing.
  std::vector<Event> update(const FrameAnswer& answer);
  // The stream has ended: all objects vanish.
  std::vector<Event> end();

  // The objects that have not vanished: all, and those in a zone. REQUIRES: zone < zones.
  Counts present() const;
  Counts present_in(size_t zone) const;
  // How many crossed a line so far. REQUIRES: line < lines.
  const Counts& crossed(size_t line, bool forwards) const {
    return crossed_[line][forwards ? 1 : 0];
  }

 private:
  struct Moment {
    size_t frame = 0;
    int64_t time_us = 0;
  };
  struct Stay {
    bool inside = false;
    Moment since = {};
  };
  struct Object {
    size_t source = 0;
    detect::Detection detection = {};
    Moment first = {}, last = {};
    std::vector<Stay> stays = {};  // for each zone
  };

  void scale_to(const Tensor& image);
  void move(int64_t id, Object& object, const Seen& seen, Moment now, std::vector<Event>& events);
  void go(int64_t id, const Object& object, std::vector<Event>& events) const;
  static Event event(EventKind kind, int64_t id, const Object& object, Moment when);
  static void leave(Event base, const Stay& stay, const std::string& zone,
                    std::vector<Event>& events);

  ActivityOptions options_;
  std::vector<Zone> zones_;  // in pixels
  std::vector<Line> lines_;
  int64_t width_ = -1, height_ = -1;
  std::map<int64_t, Object> objects_;         // by id
  std::vector<std::vector<Counts>> crossed_;  // for each line: backwards, forwards
};

}  // namespace shoal::watch

#pragma GCC visibility pop
