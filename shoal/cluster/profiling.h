// Profiling: how fast the workers of a cluster are at a graph, and how fast the ways to them are.
#pragma once

#include <span>

#include "shoal/cluster/folder.h"
#include "shoal/graph/graph.h"
#include "shoal/net/transport.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

struct ProfilingOptions {
  double seconds_per_node = 0.02;  // that each distinct node is tried for, on each worker
};

// One worker after the other: those that share a machine would disturb each other.
Result<plan::ClusterProfile> measure_cluster(const Graph& graph,
                                             std::span<const ListedWorker> workers,
                                             net::Transport& transport,
                                             const ProfilingOptions& options = {});

}  // namespace shoal::cluster
