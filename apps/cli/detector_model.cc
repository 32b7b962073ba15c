#include "detector_model.h"

#include "shoal/watch/scene.h"

namespace shoal::cli {

Result<Model> open_detector_model(const std::string& name) {
  return name == watch::kScene ? watch::scene_detector() : open_model_with_warning(name);
}

}  // namespace shoal::cli
