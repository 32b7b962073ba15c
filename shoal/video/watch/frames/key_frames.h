// A detector over one stream that computes its features of key frames only
// (video/keyframe/pipeline.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/keyframe/pipeline.h"
#include "shoal/video/watch/frames/frame_source.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// One thread at a time calls it, with the frames of one stream in order.
struct KeyFrameDetector {
  detect::Detector detector;
  std::shared_ptr<const keyframe::Pipeline> pipeline;  // for its counts
  // Passes the codec's motion of a frame before it is looked at, so that flow need not be
  // estimated. REQUIRES: called with every frame of the stream, or none.
  std::function<void(const Frame&)> see;
};

// Fails as detect::head_of(), Model::graph() and Pipeline::open() do. REQUIRES: `device` outlives
// the detector.
Result<KeyFrameDetector> open_key_frame_detector(const Model& model, Device& device,
                                                 const keyframe::PipelineOptions& options,
                                                 std::optional<detect::HeadKind> head = {});

}  // namespace shoal::watch

#pragma GCC visibility pop
