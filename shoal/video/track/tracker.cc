#include "shoal/video/track/tracker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shoal/video/track/assignment.h"

namespace shoal::track {
namespace {

using detect::Box;
using detect::Detection;
using detect::Point;

// Of ByteTrack's filter, as shares of the height of a box: what a position may jump in a frame,
// what a velocity may change, and how far off a detection is.
constexpr double kPositionNoise = 1.0 / 20, kVelocityNoise = 1.0 / 160;

std::array<double, 4> measured(const Box& box) {
  return {(box.left + box.right) / 2, (box.top + box.bottom) / 2, box.width(), box.height()};
}

double square(double x) { return x * x; }

Box moved_by(const Box& box, const Point& way) {
  return {box.left + way.x, box.top + way.y, box.right + way.x, box.bottom + way.y};
}

}  // namespace

void Tracker::Coordinate::predict(double dt, double noise) {
  x += v * dt;
  xx += dt * (2 * xv + dt * vv) + square(kPositionNoise * noise) * dt;
  xv += dt * vv;
  vv += square(kVelocityNoise * noise) * dt;
}

void Tracker::Coordinate::correct(double position, double noise) {
  const double all = xx + square(kPositionNoise * noise);
  const double gain_x = xx / all, gain_v = xv / all, off = position - x;
  x += gain_x * off;
  v += gain_v * off;
  vv -= gain_v * xv;
  xv -= gain_x * xv;
  xx -= gain_x * xx;
}

Box Tracker::Tracked::box() const {
  const auto half = [&](size_t i) { return std::max(state[i].x, 0.0) / 2; };
  return {static_cast<float>(state[0].x - half(2)), static_cast<float>(state[1].x - half(3)),
          static_cast<float>(state[0].x + half(2)), static_cast<float>(state[1].x + half(3))};
}

void Tracker::predict(size_t frames) {
  for (Tracked& track : tracks_) {
    const double height = std::max(track.state[3].x, 1.0);
    if (std::exchange(track.followed, false)) {
      track.state[0].v = static_cast<double>(track.moved.x) / static_cast<double>(frames);
      track.state[1].v = static_cast<double>(track.moved.y) / static_cast<double>(frames);
      track.moved = {};
    }
    for (Coordinate& coordinate : track.state)
      coordinate.predict(static_cast<double>(frames), height);
    track.missed += frames;
  }
}

void Tracker::begin(const Detection& detection) {
  const bool sure = detection.score >= options_.sure_score;
  Tracked track{.id = next_++, .last = detection, .hits = sure ? options_.confirmations : 1};
  const auto at = measured(detection.box);
  const double height = std::max(at[3], 1.0);
  for (size_t i = 0; i < at.size(); ++i) {
    track.state[i] = {.x = at[i],
                      .xx = square(2 * kPositionNoise * height),
                      .vv = square(10 * kVelocityNoise * height)};
  }
  tracks_.push_back(track);
}

void Tracker::correct(Tracked& track, const Detection& detection) {
  const auto at = measured(detection.box);
  const double height = std::max(track.state[3].x, 1.0);
  for (size_t i = 0; i < at.size(); ++i) track.state[i].correct(at[i], height);
  track.last = detection;
  track.missed = 0;
  ++track.hits;
}

void Tracker::match(const std::vector<Detection>& detections, std::vector<bool>& used, bool high) {
  std::vector<size_t> rows, columns;
  for (size_t t = 0; t < tracks_.size(); ++t) {
    if (tracks_[t].missed > 0) rows.push_back(t);
  }
  for (size_t d = 0; d < detections.size(); ++d) {
    const float score = detections[d].score;
    const bool wanted = high ? score >= options_.high_score
                             : score >= options_.low_score && score < options_.high_score;
    if (!used[d] && wanted) columns.push_back(d);
  }
  constexpr double kNever = 2;  // more than any 1 - overlap
  Costs costs{.rows = rows.size(), .columns = columns.size()};
  for (const size_t t : rows) {
    const bool plain = options_.association == Association::kPlain;
    const Box box = plain ? tracks_[t].last.box : tracks_[t].box();
    for (const size_t d : columns) {
      const bool same = detections[d].label == tracks_[t].last.label;
      costs.values.push_back(same ? 1 - detect::overlap(box, detections[d].box) : kNever);
    }
  }
  const float least = high ? options_.least_overlap : options_.least_overlap_low;
  const std::vector<size_t> column_of = assign(costs, 1 - least);
  for (size_t r = 0; r < rows.size(); ++r) {
    if (column_of[r] == kUnassigned) continue;
    const size_t d = columns[column_of[r]];
    correct(tracks_[rows[r]], detections[d]);
    used[d] = true;
  }
}

std::vector<Track> Tracker::update(const std::vector<Detection>& detections, size_t frames,
                                   size_t coast) {
  predict(frames);
  std::vector<bool> used(detections.size(), false);
  match(detections, used, /*high=*/true);
  if (options_.association == Association::kTwoScores) match(detections, used, /*high=*/false);
  // An unconfirmed track was a mistake of the detector.
  std::erase_if(tracks_, [&](const Tracked& track) {
    return track.missed > options_.max_missed ||
           (track.missed > 0 && track.hits < options_.confirmations);
  });
  for (size_t d = 0; d < detections.size(); ++d) {
    if (!used[d] && detections[d].score >= options_.begin_score) begin(detections[d]);
  }
  std::vector<Track> shown;
  for (const Tracked& track : tracks_) {
    const bool seen = track.missed == 0;
    if (track.hits < options_.confirmations || (!seen && track.missed > coast)) continue;
    Track one{.id = track.id, .detection = track.last, .seen = seen};
    if (options_.association == Association::kTwoScores) one.detection.box = track.box();
    shown.push_back(one);
  }
  return shown;
}

void Tracker::follow(const Motion& motion, size_t frames) {
  const auto count = static_cast<float>(frames);
  for (Tracked& track : tracks_) {
    if (track.missed > 0) continue;
    const Point velocity{static_cast<float>(track.state[0].v),
                         static_cast<float>(track.state[1].v)};
    const Point pace = track.pace.value_or(velocity);
    const Point guess{pace.x * count, pace.y * count};
    const auto seen = motion(moved_by(track.last.box, track.moved), guess);
    const Point way = seen.value_or(Point{velocity.x * count, velocity.y * count});
    if (seen) {
      const Point now{way.x / count, way.y / count};
      track.pace = track.pace ? Point{(pace.x + now.x) / 2, (pace.y + now.y) / 2} : now;
    }
    track.moved = {track.moved.x + way.x, track.moved.y + way.y};
    track.followed = true;
  }
}

std::vector<Track> Tracker::expected(size_t frames) const {
  std::vector<Track> all;
  for (const Tracked& track : tracks_) {
    if (track.missed > 0) continue;
    Track one{.id = track.hits < options_.confirmations ? 0 : track.id,
              .detection = track.last,
              .seen = frames == 0};
    if (track.followed && frames > 0) {
      one.detection.box = moved_by(track.last.box, track.moved);
      all.push_back(one);
      continue;
    }
    const auto way = [&](size_t i) {
      return static_cast<float>(track.state[i].v * static_cast<double>(frames));
    };
    Box& box = one.detection.box;
    const float wider = std::max(way(2), -box.width()) / 2;
    const float higher = std::max(way(3), -box.height()) / 2;
    box = {box.left + way(0) - wider, box.top + way(1) - higher, box.right + way(0) + wider,
           box.bottom + way(1) + higher};
    all.push_back(one);
  }
  return all;
}

}  // namespace shoal::track
