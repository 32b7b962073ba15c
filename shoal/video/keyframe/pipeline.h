// Runs a network over a stream, but computes its features on key frames only (Deep Feature Flow
// with MobiEye's scheduling [Mao 2019]). In between, features are warped by the image's flow, and
// only the light part of the network runs.
//
//   SHOAL_ASSIGN(const auto pipeline, keyframe::Pipeline::open(network, *device));
//   for (const Tensor& input : inputs) {
//     SHOAL_ASSIGN(const keyframe::Answer answer, pipeline->run(input));
//     ... answer.outputs ...
//   }
//
// In asynchronous order features are computed on their own thread, all frames take equally long,
// and features are a few frames older (async_features.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/keyframe/flow.h"
#include "shoal/video/keyframe/split.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// When a frame is a key frame: the more has moved since the last one, the sooner (VDS [Mao 2019]).
//
//   m = mean over blocks of |sum of motion vectors since the last key frame|
//   t = clamp((m - low) / (high - low), 0, 1)
//   interval = round(most - t (most - least))
//
// A frame that many frames after a key frame is the next one. `least` = `most` is a static
// schedule.

// A value.
struct KeyScheduleOptions {
  size_t least = 5, most = 20;  // frames from one key frame to the next
  double low = 0, high = 20;    // motion in pixels: from which on the interval shrinks, and ends to
  // A frame whose residual without motion is this large, in levels of 255, is a key frame:
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

// The sum of vectors since the last key frame, per block, from each frame to the one before, which
// is what codecs have. (A flow from the key frame itself needs no sum.) A value.
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

// A value.
struct PipelineOptions {
  KeyScheduleOptions schedule = {};
  CutOptions cut = {};
  std::vector<ValueId> at = {};  // where to split the network; empty: as find_cut() says
  bool asynchronous = false;
  // Key frames compute their features only where the image has changed. Needs a
  // CPU and sequential order.
  bool sparse = false;
};

// Parses "off"; "auto", by motion as seen by a fixed camera; or a number of frames between key
// frames. The latter two may be followed by ":async", features on a thread of their own, or
// ":sparse", features only where the image has changed. kInvalidArgument for any other text.
Result<std::optional<PipelineOptions>> parse_key_frames(std::string_view text);

// The answer to a frame.
struct Answer {
  std::vector<Tensor> outputs = {};  // of the network
  size_t key = 0;                    // the frame whose features it is from, counted from 0
  bool is_key = false;               // its own features are, or will be, computed
  Motion motion = {};                // since the last key frame
};

// Of one stream. Thread-compatible.
class Pipeline {
 public:
  // Fails as check(), find_cut(), split_at() and the device do; kUnsupported unless the one input
  // is an image f32 [1, c, h, w] of at least kLeastSide. REQUIRES: `device` outlives the pipeline.
  static Result<std::unique_ptr<Pipeline>> open(const Graph& network, Device& device,
                                                const PipelineOptions& options = {});
  virtual ~Pipeline() = default;

  // The next frame, as the network reads it. `motion` is the flow from the frame before, in pixels
  // of the input, if known, as from a codec (placed()); otherwise it is estimated. kInvalidArgument
  // for another type or size; fails as the device does, in asynchronous order also for an earlier
  // frame.
  virtual Result<Answer> run(const Tensor& input, const Flow* motion = nullptr) = 0;

  // How many multiply-accumulates a key frame takes, and another one.
  virtual int64_t features_macs() const = 0;
  virtual int64_t task_macs() const = 0;
  // Share of the multiply-accumulates of the whole network on every frame that was computed so far;
  // 1 before the first frame.
  virtual double macs_share() const = 0;
};

}  // namespace shoal::keyframe

#pragma GCC visibility pop
