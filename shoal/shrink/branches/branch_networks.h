// Networks of branches as functions of the batch, which differs between training, evaluation and
// files.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/branches/make_branches.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/retraining/networks.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::branch {

// A network as branches, in this form.
inline fit::NetworkForBatch in_branches(const fit::NetworkForBatch& network,
                                        const BranchOptions& options, const BranchForm& form = {}) {
  return fit::changed(network, [options, form](const Graph& graph) -> Result<Graph> {
    SHOAL_ASSIGN(Branched branched, make_branches(graph, options, form));
    return std::move(branched.graph);
  });
}

// The units that this branch lacks, by number. If the worth of units is known, each group is dealt
// out from the best on, so that all branches get a fair share; a fattened branch takes the best of
// its neighbours' next. REQUIRES: options are those of a network with these groups, and have such a
// branch.
std::vector<size_t> units_without(const compress::Groups& groups, const BranchOptions& options,
                                  size_t branch);

// The weights, by name, of the network as branches. Each branch is refitted to answer some of the
// examples as the network does (shrink/compress/refit/refit.h), with equal weight. The thesis
// trains branches from scratch; these need far fewer images. REQUIRES: branches are concatenated.
// Fails as make_branches(), the examples and the device do.
Result<shrink::Weights> weights_of_branches(Device& device, const shrink::NetworkForBatch& network,
                                            const BranchOptions& options, const Dataset& examples,
                                            const fit::TrainingOptions& recipe);

}  // namespace shoal::branch
