// A network after removal with refitted weights (shrink/compress/refit/refit.h).
#pragma once

#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/refit/refit.h"
#include "shoal/shrink/retraining/norms.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::shrink {

// A network that lost units, and what of it could not be refitted.
struct RefittedLearner {
  fit::Learner learner;
  std::vector<std::string> left;  // a line for each layer that keeps its weights
};

// `whole` without these units of its groups, refitted to answer some of the examples as `whole`
// does. Norms that were put in for learning are put in anew: they begin with what channels give
// now. Fails as removal, the examples and the device do.
Result<RefittedLearner> refitted(Device& device, const fit::Learner& whole,
                                 const std::vector<size_t>& units, const Dataset& examples,
                                 const fit::TrainingOptions& recipe,
                                 const compress::RefitOptions& how = {});

}  // namespace shoal::shrink
