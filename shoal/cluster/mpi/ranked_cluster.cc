#include "shoal/cluster/mpi/ranked_cluster.h"

#include "shoal/cluster/data_parallel/training_task.h"
#include "shoal/cluster/mpi/mpi.h"
#include "shoal/cluster/worker/worker.h"

namespace shoal::mpi {
namespace {

constexpr int kCoordinator = 0;

std::string name_of(int rank) { return "rank " + std::to_string(rank); }

Status work(Ranks& ranks, Device& device) {
  const auto transport = ranks.transport();
  cluster::Worker worker({.name = name_of(ranks.rank()), .tasks = cluster::training_tasks()},
                         device, *transport);
  auto listener = transport->listen("");
  if (listener.ok()) worker.serve(*std::move(listener));
  ranks.barrier();  // the coordinator comes when it is done, and waits for those that failed, too
  return listener.status();
}

}  // namespace

Result<std::optional<RankedCluster>> join_ranks(
    const std::function<Result<std::unique_ptr<Device>>()>& make_device) {
  SHOAL_ASSIGN(std::unique_ptr<Ranks> ranks, Ranks::begin());
  if (ranks->rank() != kCoordinator) {
    SHOAL_ASSIGN(const auto device, make_device());
    SHOAL_TRY(work(*ranks, *device));
    return std::optional<RankedCluster>();
  }
  if (ranks->size() < 2) {
    return Status(Code::kUnavailable, "one rank has nobody to work for it: mpirun -n 2 or more");
  }
  RankedCluster cluster;
  cluster.transport = ranks->transport();
  for (int rank = 1; rank < ranks->size(); ++rank) {
    cluster.workers.push_back({name_of(rank), std::to_string(rank)});
  }
  // The barrier here is the one that workers wait at in work(); the destructor has another.
  cluster.ranks = std::shared_ptr<Ranks>(ranks.release(), [](Ranks* all) {
    all->barrier();
    delete all;
  });
  return std::optional(std::move(cluster));
}

}  // namespace shoal::mpi
