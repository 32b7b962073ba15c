#include "../mpi_access.h"

#include <cstdlib>

#include "shoal/cluster/worker.h"
#include "shoal/cpu/cpu.h"
#include "shoal/mpi/mpi.h"

namespace shoal::cli {
namespace {

constexpr int kCoordinator = 0;

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

Status work(mpi::Ranks& ranks) {
  const auto device = make_cpu_device({.threads = 1});
  const auto transport = ranks.transport();
  cluster::Worker worker({.name = name_of(ranks.rank())}, *device, *transport);
  SHOAL_ASSIGN(auto listener, transport->listen(""));
  worker.serve(std::move(listener));
  ranks.barrier();  // the coordinator comes when it is done
  return {};
}

}  // namespace

Result<RankedCluster> join_ranks() {
  SHOAL_ASSIGN(std::unique_ptr<mpi::Ranks> ranks, mpi::Ranks::begin());
  if (ranks->rank() != kCoordinator) {
    const Status status = work(*ranks);
    ranks.reset();
    std::exit(status.ok() ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  if (ranks->size() < 2) return invalid("one rank has nobody to work for it: mpirun -n 2 or more");
  RankedCluster cluster;
  cluster.transport = ranks->transport();
  for (int rank = 1; rank < ranks->size(); ++rank) {
    cluster.workers.push_back({name_of(rank), std::to_string(rank)});
  }
  cluster.ranks = std::shared_ptr<mpi::Ranks>(ranks.release(), [](mpi::Ranks* all) {
    all->barrier();
    delete all;
  });
  return cluster;
}

}  // namespace shoal::cli
