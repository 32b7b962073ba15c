// Tracker: which detections of successive frames are the same object.
//
// Each track has a Kalman filter for its box's centre and size, each a position x with a velocity
// v: x' = x + v dt. Predicted and detected boxes are assigned at the least sum of 1 - overlap, as
// in ByteTrack: high-score detections to all tracks, then low-score ones to the tracks left, which
// keeps the identity of half hidden objects. A remaining high-score detection begins a track; a
// track without detections for a while ends.
//
// Between detections an image may give a track's motion (box_motion.h), which then replaces v dt.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "shoal/video/detect/detection.h"

#pragma GCC visibility push(default)

namespace shoal::track {

// How detections come to tracks.
enum class Association : uint8_t {
  kTwoScores,  // see above
  kPlain,      // detections of a high score to where tracks were last, without a filter: a control
};

// When a detection belongs to a track. A value.
struct TrackerOptions {
  Association association = Association::kTwoScores;
  float high_score = 0.5F, low_score = 0.1F;
  float begin_score = 0.6F;    // of a detection that begins a track
  float sure_score = 2;        // of a detection whose track is shown at once; above 1: of none
  float least_overlap = 0.2F;  // of a track and a detection of a high score
  float least_overlap_low = 0.5F;
  size_t max_missed = 30;    // frames without a detection until a track ends
  size_t confirmations = 2;  // frames with one until a track is shown
};

// An object in the present frame.
struct Track {
  int64_t id = 0;                    // from 1, never given again
  detect::Detection detection = {};  // with the box that the filter gives
  bool seen = true;  // false: nothing was assigned to it, and this is where it should be
};

// How far what a box shows has moved since the frame before, if that is known; about `guess`.
using Motion =
    std::function<std::optional<detect::Point>(const detect::Box& box, const detect::Point& guess)>;

// A value. Thread-compatible.
class Tracker {
 public:
  // Without tracks.
  explicit Tracker(const TrackerOptions& options = {}) : options_(options) {}

  // The next frame, `frames` after the one before. Returns the objects in it, by id: those that
  // were seen, and confirmed ones that were seen in one of the last `coast` frames.
  std::vector<Track> update(const std::vector<detect::Detection>& detections, size_t frames = 1,
                            size_t coast = 0);

  // A frame without detections, `frames` after the one before: boxes move as the image says, or
  // with the filter's velocity.
  void follow(const Motion& motion, size_t frames = 1);

  // The expected boxes `frames` later of the objects seen in the last update, from where they were
  // followed to, or else by the filter's velocity. Unconfirmed ones have the id 0.
  std::vector<Track> expected(size_t frames) const;

 private:
  // A position and a velocity, and how uncertain they are.
  struct Coordinate {
    double x = 0, v = 0;
    double xx = 0, xv = 0, vv = 0;  // covariance

    void predict(double dt, double noise);
    void correct(double measured, double noise);
  };
  struct Tracked {
    int64_t id = 0;
    detect::Detection last = {};
    std::array<Coordinate, 4> state = {};  // centre x and y, width, height
    size_t missed = 0, hits = 0;
    detect::Point moved = {};                // by follow(), since the last update
    std::optional<detect::Point> pace = {};  // of a frame, as follow() saw it last
    bool followed = false;

    detect::Box box() const;
  };

  void predict(size_t frames);
  void match(const std::vector<detect::Detection>& detections, std::vector<bool>& used, bool high);
  void begin(const detect::Detection& detection);
  void correct(Tracked& track, const detect::Detection& one);

  TrackerOptions options_;
  std::vector<Tracked> tracks_;
  int64_t next_ = 1;
};

}  // namespace shoal::track

#pragma GCC visibility pop
