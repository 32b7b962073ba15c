#include "shoal/video/watch/places/activity.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shoal::watch {
namespace {

// A source may say any time.
double seconds_between(int64_t from_us, int64_t to_us) {
  return std::max((static_cast<double>(to_us) - static_cast<double>(from_us)) / 1e6, 0.0);
}

}  // namespace

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
