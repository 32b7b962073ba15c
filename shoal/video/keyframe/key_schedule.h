// When a frame is a key frame: the more has moved since the last one, the sooner (VDS [Mao 2019]).
//
//   m = mean over blocks of |sum of motion vectors since the last key frame|
//   t = clamp((m - low) / (high - low), 0, 1)
//   interval = round(most - t (most - least))
//
// A frame that many frames after a key frame is the next one. `least` = `most` is a static
// schedule.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/video/keyframe/flow.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// A value.
struct KeyScheduleOptions {
  size_t least = 5, most = 20;  // frames from one key frame to the next
  double low = 0, high = 20;    // motion in pixels: from which on the interval shrinks, and ends to
  // A frame of which so much is left when motion is taken out, in levels of 255, is a key frame:
  // the scene was cut. Above 255: never.
  double cut_residual = 40;
};

// kInvalidArgument unless 1 <= least <= most and 0 <= low < high.
Status check(const KeyScheduleOptions& options);

// Frames from one key frame to the next after this much motion. Pure.
size_t interval_for(double motion, const KeyScheduleOptions& options);

// What has moved since the last key frame.
struct Motion {
  double mean = 0;      // m above
  double residual = 0;  // Flow::residual
};

// Decides for one stream. A value. Thread-compatible.
class KeySchedule {
 public:
  // REQUIRES: check(options).
  explicit KeySchedule(const KeyScheduleOptions& options) : options_(options) {}

  // Whether the next frame is a key frame. The first one is.
  bool next(const Motion& motion);

 private:
  KeyScheduleOptions options_;
  size_t since_key_ = 0;  // frames; 0: there was no key frame yet
};

// The sum of vectors since the last key frame, block by block, where vectors are those from each
// frame to the one before it: what codecs have. (A flow from the key frame itself needs no sum.)
// A value.
class MotionSum {
 public:
  // Of one more frame. Frames of another size begin a new sum.
  void add(const Flow& flow);
  // A key frame.
  void clear() { *this = {}; }
  // m above, and the residual of the last frame.
  Motion motion() const { return {sum_.mean_length(), sum_.residual}; }

 private:
  Flow sum_;
};

}  // namespace shoal::keyframe

#pragma GCC visibility pop
