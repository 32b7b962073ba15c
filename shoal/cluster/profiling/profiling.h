// Profiling: measures how fast the workers of a cluster compute a graph, and the links to them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/cluster/profiling/worker_probe.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::cluster {

struct ProfilingOptions {
  double seconds_per_node = 0.02;  // for each distinct node on each worker
};

struct MeasuredWorker {
  plan::WorkerProfile profile;
  plan::LinkProfile link;
};

// Measures one worker after the other, because some may share a machine and all share the network.
// Results are in the order of the workers, each with its own error. A worker that lacks the memory
// for some nodes, or for all of them together, is measured at the rest. Fails if the graph cannot
// be cut into nodes.
Result<std::vector<Result<MeasuredWorker>>> measure_workers(const Graph& graph,
                                                            std::span<const ListedWorker> workers,
                                                            net::Transport& transport,
                                                            const ProfilingOptions& options = {});

// The profile of all these workers. Unknown ones have a place in it, but are not present.
plan::ClusterProfile assemble(std::span<const ListedWorker> workers,
                              std::span<const std::optional<MeasuredWorker>> known);

// The present state of a worker, the link to it, and its speed at a 3x3 convolution of 64 to 64
// channels, which is typical of common networks.
struct WorkerInspection {
  WorkerState state;
  plan::LinkProfile link;
  double macs_per_second = 0;
};
// Connects to all at the same time, and measures one after the other.
std::vector<Result<WorkerInspection>> inspect_workers(std::span<const ListedWorker> workers,
                                                      net::Transport& transport);

}  // namespace shoal::cluster
