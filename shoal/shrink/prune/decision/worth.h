// The worth of units where examples decide it: gradients of the loss on some batches, without a
// step.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::shrink {

// The part of the examples to look at: this one of so many.
struct Round {
  size_t number = 0, rounds = 1;
};

// The worth of every unit of `groups`, which are those of `network`, by this importance, once the
// units `gone` are masked. Examples are looked at by kTaylor, kLasso and kHoyer, in order; each
// round takes up where the last one ended. Fails as the device and the data do, and with
// kInvalidArgument where examples are needed and there are none. REQUIRES: the network takes
// batches of recipe.batch images.
Result<std::vector<double>> worth_of(Device& device, const Graph& network,
                                     const compress::Groups& groups, std::span<const size_t> gone,
                                     Importance importance, const Dataset& examples,
                                     const fit::TrainingOptions& recipe, Round round = {});

}  // namespace shoal::shrink
