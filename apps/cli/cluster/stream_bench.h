// shoal bench --cluster --objective throughput: how many answers a second, with several requests on
// their way at once.
#pragma once

#include <functional>

#include "../streaming.h"
#include "cluster_access.h"
#include "cluster_bench.h"

namespace shoal::cli {

// Opens a cluster, makes plans for a stream on it, and calls `measure` with both.
Outcome with_planned_stream(
    const ClusterBenchFlags& flags,
    const std::function<Outcome(ClusterAccess& access, const PlannedStream& planned)>& measure);

Outcome bench_stream(const ClusterBenchFlags& flags);

}  // namespace shoal::cli
