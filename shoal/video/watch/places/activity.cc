#include "shoal/video/watch/places/activity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace shoal::watch {
namespace {

using detect::Point;

// On the + side of the line from a to b, or on it.
bool is_right(const Point& a, const Point& b, const Point& p) {
  const double along_x = double{b.x} - a.x, along_y = double{b.y} - a.y;
  return along_x * (double{p.y} - a.y) - along_y * (double{p.x} - a.x) >= 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

struct NamedPoints {
  std::string name;
  std::vector<Point> points = {};
};

Result<NamedPoints> parse(std::string_view text, std::string_view what) {
  const auto refused = [&] { return invalid(std::string(text) + " is no " + std::string(what)); };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || !is_name(text.substr(0, equals))) return refused();
  std::vector<float> numbers;
  std::string_view rest = text.substr(equals + 1);
  for (bool more = true; more;) {
    float number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc() || !(number >= 0) || !std::isfinite(number)) return refused();
    numbers.push_back(number);
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    more = !rest.empty();
    if (more && !rest.starts_with(',')) return refused();
    if (more) rest.remove_prefix(1);
  }
  if (numbers.size() % 2 != 0) return refused();
  NamedPoints named{std::string(text.substr(0, equals))};
  for (size_t i = 0; i < numbers.size(); i += 2) {
    named.points.push_back({numbers[i], numbers[i + 1]});
  }
  return named;
}

void to_pixels(std::span<Point> points, int64_t width, int64_t height) {
  const bool shares =
      std::ranges::all_of(points, [](const Point& point) { return point.x <= 1 && point.y <= 1; });
  if (!shares) return;
  for (Point& one : points) {
    one = {one.x * static_cast<float>(width), one.y * static_cast<float>(height)};
  }
}

// A source may say any time.
double seconds_between(int64_t from_us, int64_t to_us) {
  return std::max((static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6, 0.0);
}

}  // namespace

Point foot(const detect::Box& box) { return {(box.left + box.right) / 2, box.bottom}; }

// Edges that the ray to the right of the point crosses; an edge has its upper end, not its lower.
bool contains(const Zone& zone, const Point& point) {
  bool inside = false;
  for (size_t i = 0; i < zone.corners.size(); ++i) {
    const Point& a = zone.corners[i];
    const Point& b = zone.corners[(i + 1) % zone.corners.size()];
    if ((a.y <= point.y) == (b.y <= point.y)) continue;
    const bool downwards = a.y < b.y;
    if (is_right(a, b, point) == downwards) inside = !inside;
  }
  return inside;
}

int crossing(const Line& line, const Point& p, const Point& q) {
  const bool before = is_right(line.from, line.to, p), after = is_right(line.from, line.to, q);
  if (before == after) return 0;
  // The same for the way back, where the path touches an end of the line.
  const bool ordered = p.x < q.x || (p.x == q.x && p.y < q.y);
  const Point& low = ordered ? p : q;
  const Point& high = ordered ? q : p;
  if (is_right(low, high, line.from) == is_right(low, high, line.to)) return 0;
  return after ? 1 : -1;
}

Result<Zone> parse_zone(std::string_view text) {
  constexpr std::string_view kWhat = "zone: NAME=x,y,x,y,x,y";
  SHOAL_ASSIGN(NamedPoints named, parse(text, kWhat));
  if (named.points.size() < 3) {
    return invalid(std::string(text) + " has fewer than three corners");
  }
  return Zone{std::move(named.name), std::move(named.points)};
}

Result<Line> parse_line(std::string_view text) {
  constexpr std::string_view kWhat = "line: NAME=x1,y1,x2,y2";
  SHOAL_ASSIGN(const NamedPoints named, parse(text, kWhat));
  if (named.points.size() != 2 || named.points[0] == named.points[1]) {
    return invalid(std::string(text) + " has not two ends");
  }
  return Line{named.name, named.points[0], named.points[1]};
}

Zone in_pixels(const Zone& zone, int64_t width, int64_t height) {
  Zone scaled = zone;
  to_pixels(scaled.corners, width, height);
  return scaled;
}

Line in_pixels(const Line& line, int64_t width, int64_t height) {
  std::vector<Point> ends = {line.from, line.to};
  to_pixels(ends, width, height);
  return {line.name, ends[0], ends[1]};
}

std::string_view name_of(EventKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"appeared", "vanished", "entered", "left",
                                                      "crossed"};
  return kNames[static_cast<size_t>(kind)];
}

Activity::Activity(ActivityOptions options)
    : options_(std::move(options)),
      zones_(options_.zones),
      lines_(options_.lines),
      crossed_(options_.lines.size(), std::vector<Counts>(2)) {}

void Activity::scale_to(const Tensor& image) {
  if (!image.defined() || (image.shape()[0] == height_ && image.shape()[1] == width_)) return;
  height_ = image.shape()[0];
  width_ = image.shape()[1];
  for (size_t i = 0; i < zones_.size(); ++i) {
    zones_[i] = in_pixels(options_.zones[i], width_, height_);
  }
  for (size_t i = 0; i < lines_.size(); ++i) {
    lines_[i] = in_pixels(options_.lines[i], width_, height_);
  }
}

Event Activity::event(EventKind kind, int64_t id, const Object& object, Moment when) {
  return {.kind = kind,
          .source = object.source,
          .frame = when.frame,
          .time_us = when.time_us,
          .id = id,
          .detection = object.detection};
}

void Activity::leave(Event base, const Stay& stay, const std::string& zone,
                     std::vector<Event>& events) {
  base.place = zone;
  base.frames = base.frame - stay.since.frame;
  base.seconds = seconds_between(stay.since.time_us, base.time_us);
  events.push_back(std::move(base));
}

void Activity::move(int64_t id, Object& object, const Seen& seen, Moment now,
                    std::vector<Event>& events) {
  const detect::Point from = foot(object.detection.box), to = foot(seen.detection.box);
  object.detection = seen.detection;
  object.last = now;
  object.stays.resize(zones_.size());
  for (size_t i = 0; i < lines_.size(); ++i) {
    const int way = crossing(lines_[i], from, to);
    if (way == 0) continue;
    Event crossed = event(EventKind::kCrossed, id, object, now);
    crossed.place = lines_[i].name;
    crossed.forwards = way > 0;
    ++crossed_[i][way > 0 ? 1 : 0][seen.detection.label];
    events.push_back(std::move(crossed));
  }
  for (size_t i = 0; i < zones_.size(); ++i) {
    Stay& stay = object.stays[i];
    const bool inside = contains(zones_[i], to);
    if (inside && !stay.inside) {
      Event entered = event(EventKind::kEntered, id, object, now);
      entered.place = zones_[i].name;
      events.push_back(std::move(entered));
      stay = {.inside = true, .since = now};
    } else if (!inside && stay.inside) {
      leave(event(EventKind::kLeft, id, object, now), stay, zones_[i].name, events);
      stay.inside = false;
    }
  }
}

void Activity::go(int64_t id, const Object& object, std::vector<Event>& events) const {
  for (size_t i = 0; i < object.stays.size(); ++i) {
    if (!object.stays[i].inside) continue;
    leave(event(EventKind::kLeft, id, object, object.last), object.stays[i], zones_[i].name,
          events);
  }
  Event vanished = event(EventKind::kVanished, id, object, object.last);
  vanished.frames = object.last.frame - object.first.frame;
  vanished.seconds = seconds_between(object.first.time_us, object.last.time_us);
  events.push_back(std::move(vanished));
}

std::vector<Event> Activity::update(const FrameAnswer& answer) {
  scale_to(answer.image);
  const Moment now{answer.frame, answer.time_us};
  std::vector<Event> events;
  for (const Seen& seen : answer.seen) {
    if (seen.id == 0) continue;
    const auto [at, is_new] = objects_.try_emplace(seen.id);
    Object& object = at->second;
    if (is_new) {
      object = {.source = answer.source, .detection = seen.detection, .first = now, .last = now};
      events.push_back(event(EventKind::kAppeared, seen.id, object, now));
    }
    move(seen.id, object, seen, now, events);
  }
  std::erase_if(objects_, [&](const auto& one) {
    const bool gone = now.frame - one.second.last.frame > options_.max_missed;
    if (gone) go(one.first, one.second, events);
    return gone;
  });
  return events;
}

std::vector<Event> Activity::end() {
  std::vector<Event> events;
  for (const auto& [id, object] : objects_) go(id, object, events);
  objects_.clear();
  return events;
}

Counts Activity::present() const {
  Counts counts;
  for (const auto& [id, object] : objects_) ++counts[object.detection.label];
  return counts;
}

Counts Activity::present_in(size_t zone) const {
  Counts counts;
  for (const auto& [id, object] : objects_) {
    if (object.stays[zone].inside) ++counts[object.detection.label];
  }
  return counts;
}

}  // namespace shoal::watch
