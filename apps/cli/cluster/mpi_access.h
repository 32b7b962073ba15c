// --cluster mpi: the ranks that mpirun started are the cluster.
#pragma once

#include <memory>
#include <vector>

#include "shoal/cluster/folder.h"
#include "shoal/net/transport.h"

namespace shoal::cli {

struct RankedCluster {
  std::shared_ptr<void> ranks;  // outlives the rest; the other ranks end with it
  std::unique_ptr<net::Transport> transport;
  std::vector<cluster::ListedWorker> workers;
};

// Returns on rank 0, which coordinates. The others work until it is done, and then exit.
Result<RankedCluster> join_ranks();

}  // namespace shoal::cli
