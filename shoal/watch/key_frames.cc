#include "shoal/watch/key_frames.h"

#include <utility>
#include <vector>

namespace shoal::watch {

Result<KeyFrameDetector> open_key_frame_detector(const Model& model, Device& device,
                                                 const keyframe::PipelineOptions& options,
                                                 std::optional<detect::HeadKind> head) {
  SHOAL_ASSIGN(detect::Head known, detect::head_of(model, head));
  SHOAL_ASSIGN(const LoadedGraph loaded, model.graph());
  SHOAL_ASSIGN(auto opened, keyframe::Pipeline::open(loaded.graph, device, options));
  const std::shared_ptr<keyframe::Pipeline> pipeline = std::move(opened);
  const auto network = [pipeline](const Tensor& input) -> Result<std::vector<Tensor>> {
    SHOAL_ASSIGN(keyframe::Answer answer, pipeline->run(input));
    return std::move(answer.outputs);
  };
  return KeyFrameDetector{detect::Detector(std::move(known), network), pipeline};
}

}  // namespace shoal::watch
