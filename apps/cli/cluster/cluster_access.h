// The cluster of this user, or the emulated one that a command runs in.
#pragma once

#include <functional>
#include <memory>

#include "../planning.h"
#include "shoal/cluster/benchmarks/measured_plans.h"
#include "shoal/cluster/emulate/workers/cluster_access.h"

namespace shoal::cli {

using emulate::ClusterAccess;
using emulate::ShapedLinks;

using DeployProgress = std::function<Status(const cluster::WeightsProgress&)>;

// Connects to the workers of the folder that the environment names, or of the default one, to the
// ranks of MPI, or to the devices of a board. Workers that do not answer, or cannot be measured,
// are named on stderr and left out until they join. `progress` is called while weights are sent,
// instead of showing a line on the terminal.
Result<std::unique_ptr<ClusterAccess>> open_access(const PlanFlags& flags,
                                                   DeployProgress progress = nullptr);

// The times of the plans, with what had to be measured again on stderr.
Result<emulate::PlanFigures> measure(ClusterAccess& access, Planned& planned, double seconds,
                                     bool strict);

}  // namespace shoal::cli
