// The worth of units where examples decide it: gradients of the loss on some batches, without a
// step.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/compress/groups.h"
#include "shoal/data/dataset.h"
#include "shoal/device/device.h"
#include "shoal/fit/training_options.h"
#include "shoal/shrink/shrink_options.h"

namespace shoal::shrink {

// The worth of every unit of `groups`, which are those of `network`, by this importance. The
// examples are looked at once, in order, and only by kTaylor. Fails as the device and the data do,
// and with kInvalidArgument where examples are needed and there are none. REQUIRES: the network
// takes batches of recipe.batch images.
Result<std::vector<double>> worth_of(Device& device, const Graph& network,
                                     const compress::Groups& groups, Importance importance,
                                     const Dataset& examples, const fit::TrainingOptions& recipe);

}  // namespace shoal::shrink
