#include "shoal/video/watch/frames/key_frames.h"

#include <utility>
#include <vector>

namespace shoal::watch {
namespace {

// The motion since the last frame that was looked at.
class MotionSinceLook {
 public:
  void add(const Frame& frame) {
    const Shape& shape = frame.image.shape();
    height_ = shape[0];
    width_ = shape[1];
    if (!frame.motion || broken_) {
      broken_ = true;
      sum_.reset();
    } else if (sum_ && sum_->height == frame.motion->height && sum_->width == frame.motion->width) {
      sum_ = keyframe::composed(*sum_, *frame.motion);
    } else {
      sum_ = frame.motion;
    }
  }

  // For the input of a network; begins anew.
  std::optional<keyframe::Flow> take(const detect::Head& head) {
    broken_ = false;
    const auto sum = std::exchange(sum_, std::nullopt);
    if (!sum) return {};
    const detect::Placement at = detect::placement_in(head, height_, width_);
    return keyframe::placed(*sum, head.height, head.width,
                            {at.scale_x, at.scale_y, at.shift_x, at.shift_y});
  }

 private:
  std::optional<keyframe::Flow> sum_;
  int64_t height_ = 0, width_ = 0;  // of the last frame
  bool broken_ = false;             // a frame had none
};

}  // namespace

Result<KeyFrameDetector> open_key_frame_detector(const Model& model, Device& device,
                                                 const keyframe::PipelineOptions& options,
                                                 std::optional<detect::HeadKind> head) {
  SHOAL_ASSIGN(detect::Head known, detect::head_of(model, head));
  SHOAL_ASSIGN(const LoadedGraph loaded, model.graph());
  SHOAL_ASSIGN(auto opened, keyframe::Pipeline::open(loaded.graph, device, options));
  const std::shared_ptr<keyframe::Pipeline> pipeline = std::move(opened);
  const auto motion = std::make_shared<MotionSinceLook>();
  const auto network = [pipeline, motion,
                        known](const Tensor& input) -> Result<std::vector<Tensor>> {
    const auto flow = motion->take(known);
    SHOAL_ASSIGN(keyframe::Answer answer, pipeline->run(input, flow ? &*flow : nullptr));
    return std::move(answer.outputs);
  };
  return KeyFrameDetector{detect::Detector(known, network), pipeline,
                          [motion](const Frame& frame) { motion->add(frame); }};
}

}  // namespace shoal::watch
