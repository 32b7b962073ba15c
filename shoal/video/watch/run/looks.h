// Looks: the detectors for streams: one for all, or one each if computations are reused between
// frames.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/delta/delta_device.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/session/model.h"
#include "shoal/video/detect/detector.h"
#include "shoal/video/keyframe/pipeline.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::watch {

struct LookOptions {
  std::optional<detect::HeadKind> head = {};                 // nothing: as outputs look
  std::optional<float> delta = {};                           // compute only what changed
  std::optional<keyframe::PipelineOptions> key_frames = {};  // REQUIRES: no delta
  bool motion = false;       // features move with the vectors of codecs
  bool rectangular = false;  // only the part of the input that the image fills; no key frames
};

// Not thread-safe.
class Looks {
 public:
  // On one device for all streams, or one for each. Fails as the detectors do.
  static Result<Looks> open(const Model& model, std::vector<std::unique_ptr<Device>> devices,
                            size_t streams, const LookOptions& options);

  // The streams of these sources. REQUIRES: as many as there are streams; both outlive the result.
  std::vector<Stream> streams(std::span<const std::unique_ptr<FrameSource>> sources);
  const detect::Head& head() const { return detectors_.front().head(); }

  // The computed share of a stream's multiply-accumulates.
  double computed_share(size_t stream) const;
  // The mean of all looks, by what each stream saw.
  double computed_share(std::span<const WatchResult> each) const;

 private:
  Status add_detector(const Model& model, Device& device, const LookOptions& options);

  std::vector<std::unique_ptr<Device>> devices_;
  DeltaDevice* delta_ = nullptr;
  bool motion_ = false;
  std::vector<detect::Detector> detectors_;  // one for all streams, or for each
  std::vector<std::shared_ptr<const keyframe::Pipeline>> pipelines_;  // of key frames, if they are
  std::vector<std::function<void(const Frame&)>> see_;                // theirs
};

}  // namespace shoal::watch
