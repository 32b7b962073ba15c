// A network over a stream that computes its features of key frames only (Deep Feature Flow with
// MobiEye's scheduling [Mao 2019]). Between key frames, those of the last one are moved by the flow
// of the image, and only the light part of the network runs.
//
//   SHOAL_ASSIGN(const auto pipeline, keyframe::Pipeline::open(network, *device));
//   for (const Tensor& input : inputs) {
//     SHOAL_ASSIGN(const keyframe::Answer answer, pipeline->run(input));
//     ... answer.outputs ...
//   }
//
// In asynchronous order features are computed on a thread of their own, every frame takes as long
// as those between key frames, and the features are older by a few frames (async_keys.h).
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
#include "shoal/video/keyframe/key_schedule.h"
#include "shoal/video/keyframe/split.h"

#pragma GCC visibility push(default)

namespace shoal::keyframe {

// A value.
struct PipelineOptions {
  KeyScheduleOptions schedule = {};
  CutOptions cut = {};
  std::vector<ValueId> at = {};  // where to split the network; empty: as find_cut() says
  bool asynchronous = false;
  // Key frames compute their features only where the image has changed (sparse_features.h). Needs a
  // CPU and sequential order.
  bool sparse = false;
};

// What a person asked for: "off" is none; "auto" by motion, as it is seen by a fixed camera; a
// number of frames from one key frame to the next. With ":async" after the last two, features are
// computed on a thread of their own, with ":sparse" only where the image has changed. Fails with
// kInvalidArgument.
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
  // Fails as check(), find_cut(), split_at() and the device do; with kUnsupported for a network
  // whose one input is no image f32 [1, c, h, w] of at least kLeastSide. REQUIRES: `device`
  // outlives the pipeline.
  static Result<std::unique_ptr<Pipeline>> open(const Graph& network, Device& device,
                                                const PipelineOptions& options = {});
  virtual ~Pipeline() = default;

  // The next frame, as the network reads it. `motion` is the flow from the frame before, in pixels
  // of the input, if somebody knows it, as a codec does (placed()): then none is estimated. Fails
  // with kInvalidArgument for another type or size, and as the device does; in asynchronous order
  // also for a frame before.
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
