#include "shoal/video/watch/run/watcher.h"

#include <algorithm>
#include <utility>

#include "shoal/video/track/box_motion.h"

namespace shoal::watch {
namespace {

// Without identities, the tracker follows whatever was found, to say where it goes.
track::TrackerOptions tracker_for(const WatchOptions& options) {
  if (options.track) {
    // A look that only confirms what is hardly in doubt costs as much as any other.
    constexpr float kSure = 0.65F;
    track::TrackerOptions tracker = options.tracker;
    if (options.gate) tracker.sure_score = std::min(tracker.sure_score, kSure);
    return tracker;
  }
  const float least = options.suppression.least_score;
  return {.high_score = least, .low_score = least, .begin_score = least, .confirmations = 1};
}

// Where tracks are followed in the image, looks may be rarer, and the gate may find out sooner.
GateOptions gate_for(const WatchOptions& options) {
  constexpr size_t kLongestDoubt = 5;
  constexpr double kGrowth = 1.25;
  GateOptions gate = options.gate_options;
  if (!options.track) return gate;
  gate.longest_doubt = std::max(gate.longest_doubt, kLongestDoubt);
  gate.growth = std::max(gate.growth, kGrowth);
  return gate;
}

std::vector<detect::Detection> boxes_of(const std::vector<Seen>& all) {
  std::vector<detect::Detection> boxes;
  for (const Seen& seen : all) boxes.push_back(seen.detection);
  return boxes;
}

// What has left the image is not in it, and of what leaves it the rest is.
void keep_within(const Tensor& image, std::vector<Seen>& all) {
  const auto height = static_cast<float>(image.shape()[0]);
  const auto width = static_cast<float>(image.shape()[1]);
  for (Seen& seen : all) {
    detect::Box& box = seen.detection.box;
    box = {std::clamp(box.left, 0.0F, width), std::clamp(box.top, 0.0F, height),
           std::clamp(box.right, 0.0F, width), std::clamp(box.bottom, 0.0F, height)};
  }
  std::erase_if(all, [](const Seen& one) {
    return !(one.detection.box.width() > 0 && one.detection.box.height() > 0);
  });
}

}  // namespace

Watcher::Watcher(const WatchOptions& options, Find find)
    : options_(options),
      find_(std::move(find)),
      gate_(gate_for(options)),
      tracker_(tracker_for(options)) {
  if (!options.track) return;
  float& least = options_.suppression.least_score;
  least = std::min(least, options.tracker.low_score);  // for objects that are half hidden
}

Result<FrameAnswer> Watcher::answer(const Frame& frame) {
  FrameAnswer answer{
      .frame = frame.number, .name = frame.name, .time_us = frame.time_us, .image = frame.image};
  if (options_.gate) {
    // A track is shown once it was seen again: that is not put off.
    const auto unconfirmed = [](const track::Track& one) { return one.id == 0; };
    const bool in_doubt = missed_ || std::ranges::any_of(tracker_.expected(0), unconfirmed);
    const GateDecision decision = gate_.decide(frame.image, in_doubt);
    answer.looked = decision.look;
    answer.changed = decision.changed;
  }
  // Where nothing changed, objects are where they were, and have not moved meanwhile.
  const bool still = answer.changed == 0;
  const bool follows = options_.gate && options_.track;
  if (follows && !still) follow(frame);
  if (follows) previous_ = frame.image;
  after_ = frame.number + 1;
  still_ += still ? 1 : 0;
  const size_t since = frame.number + 1 - next_ - still_;
  std::vector<Seen> expected = shown(tracker_.expected(still ? 0 : since));
  keep_within(frame.image, expected);
  if (!answer.looked) {
    answer.seen = std::move(expected);
    return answer;
  }
  missed_ = true;
  SHOAL_ASSIGN(const auto detections, find_(frame.image, options_.suppression));
  missed_ = false;
  const auto tracks = tracker_.update(detections, std::max<size_t>(since, 1));
  if (options_.track) {
    answer.seen = shown(tracks);
  } else {
    for (const detect::Detection& detection : detections)
      answer.seen.push_back({.detection = detection});
  }
  if (options_.gate) gate_.learn(compare(boxes_of(expected), boxes_of(answer.seen)));
  next_ = frame.number + 1;
  still_ = 0;
  return answer;
}

void Watcher::follow(const Frame& frame) {
  if (!previous_.defined() || previous_.type() != frame.image.type()) return;
  const auto motion = [&](const detect::Box& box, const detect::Point& guess) {
    return track::box_motion(previous_, frame.image, box, guess);
  };
  tracker_.follow(motion, frame.number + 1 - after_);
}

std::vector<Seen> Watcher::shown(const std::vector<track::Track>& tracks) const {
  std::vector<Seen> all;
  for (const track::Track& track : tracks) {
    if (options_.track && track.id == 0) continue;  // not confirmed
    all.push_back({.detection = track.detection, .id = options_.track ? track.id : 0});
  }
  return all;
}

}  // namespace shoal::watch
