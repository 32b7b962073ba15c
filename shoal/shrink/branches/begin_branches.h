// Branches that begin with what a network has learned.
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/branches/make_branches.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::branch {

// The weights, by name, of the network as branches, each of which is refitted to answer some of the
// examples as the network does (shrink/compress/refit/refit.h), and has an equal say. The thesis'
// branches begin with fresh weights; these need far fewer images. REQUIRES: branches are
// concatenated. Fails as make_branches(), the examples and the device do.
Result<shrink::Weights> weights_of_branches(Device& device, const shrink::NetworkForBatch& network,
                                            const BranchOptions& options, const Dataset& examples,
                                            const fit::TrainingOptions& recipe);

}  // namespace shoal::branch
