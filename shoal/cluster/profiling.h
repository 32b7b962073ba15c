// Profiling: measures how fast the workers of a cluster compute a graph, and the links to them.
#pragma once

#include <span>

#include "shoal/cluster/listed_worker.h"
#include "shoal/cluster/worker_probe.h"
#include "shoal/graph/graph.h"
#include "shoal/net/transport.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

struct ProfilingOptions {
  double seconds_per_node = 0.02;  // for each distinct node on each worker
};

// Measures one worker after the other, because some may share a machine and all share the network.
// Fails with the error of the first worker that does not answer, and with kInvalidArgument if there
// are none.
Result<plan::ClusterProfile> measure_cluster(const Graph& graph,
                                             std::span<const ListedWorker> workers,
                                             net::Transport& transport,
                                             const ProfilingOptions& options = {});

// A worker as it is now: its state, the link to it, and its speed at a convolution of 64 to 64
// channels by 3x3, as they are in the middle of common networks.
struct WorkerInspection {
  WorkerState state;
  plan::LinkProfile link;
  double macs_per_second = 0;
};
Result<WorkerInspection> inspect_worker(const ListedWorker& worker, net::Transport& transport);

}  // namespace shoal::cluster
