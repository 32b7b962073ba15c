// Detectors by name.
#pragma once

#include <string>

#include "model.h"

namespace shoal::cli {

// As open_model_with_warning(); or the detector of the synthetic scene, "zoo:scene".
Result<Model> open_detector_model(const std::string& name);

}  // namespace shoal::cli
