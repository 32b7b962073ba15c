// RankedCluster: the ranks that mpirun started, as a cluster. Rank 0 coordinates, the others work.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/engine/device/device.h"

namespace shoal::mpi {

struct RankedCluster {
  std::shared_ptr<void> ranks;  // the other ranks end with it. REQUIRES: it goes after the rest
  std::unique_ptr<net::Transport> transport;
  std::vector<cluster::ListedWorker> workers;
};

// On rank 0 returns the cluster of all other ranks; kUnavailable where there are none. On the
// other ranks it makes a device, works with it until rank 0 is done, and returns nothing: the
// process should then exit. Once in a process, before other threads are started.
Result<std::optional<RankedCluster>> join_ranks(
    const std::function<Result<std::unique_ptr<Device>>()>& make_device);

}  // namespace shoal::mpi
