// Scene: a synthetic fixed camera with ground truth, and a detector for it, without files.
//
// Before a grey wall, red squares stand in lanes. In each episode one of them moves at a constant
// speed, and then nothing moves until the next. The sensor is noisy, and the light changes slowly.
// A function of the seed and the frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/session/model.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/video/detect/detection.h"
#include "shoal/video/track/mot_metrics.h"
#include "shoal/video/watch/frames/frame_source.h"

#pragma GCC visibility push(default)

namespace shoal::watch {

// The name of the scene as a source.
inline constexpr std::string_view kScene = "zoo:scene";

// What happens. A value.
struct SceneOptions {
  uint64_t seed = 1;
  size_t frames = 2000;
  int64_t height = 576, width = 768;
  size_t episode = 200;   // frames
  double activity = 0.1;  // share of an episode in which something moves
  double noise = 2;       // deviation of a pixel, in levels of grey
  double light = 8;       // how far the light goes up and down, in levels of grey
};

// The squares of a frame, each with its identity. Pure.
std::vector<track::Identified> scene_truth(const SceneOptions& options, size_t frame);

// The frames in order.
class SceneSource : public FrameSource {
 public:
  // REQUIRES: height >= 384 and width >= 384, so that squares have room; episode > 0.
  explicit SceneSource(const SceneOptions& options = {});

  Result<std::optional<Frame>> next() override;
  std::optional<size_t> size() const override { return options_.frames; }

 private:
  SceneOptions options_;
  std::vector<uint8_t> wall_;
  std::vector<float> noise_;
  size_t next_ = 0;
};

// A handmade network that finds the squares: the centroid of red in windows around the cells of a
// grid of stride 8. Its head is that of yolov8.
Result<Model> scene_detector();

}  // namespace shoal::watch

#pragma GCC visibility pop
