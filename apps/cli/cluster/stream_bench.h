// What the benches of streams share.
#pragma once

#include <functional>

#include "../planning.h"
#include "cluster_access.h"
#include "cluster_bench.h"

namespace shoal::cli {

// Opens a cluster, makes plans for a stream on it, and calls `measure` with both.
Outcome with_planned_stream(
    const ClusterBenchFlags& flags,
    const std::function<Outcome(ClusterAccess& access, const PlannedStream& planned)>& measure);

}  // namespace shoal::cli
