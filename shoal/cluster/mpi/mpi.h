// Ranks: channels over MPI. Every rank is a machine, and its number is its address. mpirun and its
// cluster decide which machines take part; there are no certificates.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/transport.h"
#include "shoal/engine/device/device.h"

namespace shoal::mpi {

// The ranks that mpirun started, as a cluster. Rank 0 coordinates, the others work.
struct RankedCluster {
  std::shared_ptr<void> ranks;  // the other ranks end with it. REQUIRES: it goes after the rest
  std::unique_ptr<net::Transport> transport;
  std::vector<cluster::ListedWorker> workers;
};

// On rank 0 returns the cluster of all other ranks; kUnavailable if there are none. On the other
// ranks it makes a device, serves as a worker until rank 0 is done, and returns nullopt: the
// process should then exit. Once in a process, before other threads are started.
Result<std::optional<RankedCluster>> join_ranks(
    const std::function<Result<std::unique_ptr<Device>>()>& make_device);

class MpiDispatcher;

class Ranks {
 public:
  // Once in a process, before other threads are started.
  static Result<std::unique_ptr<Ranks>> begin();
  ~Ranks();  // waits for all ranks to come here

  int rank() const;
  int size() const;

  // The transport may end before its channels and listeners. REQUIRES: the ranks outlive all these.
  std::unique_ptr<net::Transport> transport(net::ChannelOptions options = {});

  void barrier();  // returns when all ranks have called it
  // The bytes that each rank passed, by rank, as MPI_Allgatherv; all ranks call it, equally often.
  // kUnsupported for 2 GB or more in all.
  Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine);

 private:
  Ranks();
  std::shared_ptr<MpiDispatcher> dispatcher_;
};

}  // namespace shoal::mpi
