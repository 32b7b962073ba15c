// Ranks: channels over MPI, for clusters that have it. Every rank is a machine, and its number is
// its address. mpirun and its cluster decide who may take part; there are no certificates.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "shoal/cluster/net/transport.h"

namespace shoal::mpi {

class MpiDispatcher;

class Ranks {
 public:
  // Once in a process, before other threads are started.
  static Result<std::unique_ptr<Ranks>> begin();
  ~Ranks();  // waits for all ranks to come here

  int rank() const;
  int size() const;

  // The transport may end before its channels and listeners. REQUIRES: the ranks outlive all of
  // them.
  std::unique_ptr<net::Transport> transport(net::ChannelOptions options = {});

  void barrier();  // returns when all ranks have called it
  // What each rank has given, by rank, as MPI_Allgatherv; all of them call it, equally often.
  // kUnsupported where that is 2 GB or more in all.
  Result<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> mine);

 private:
  Ranks();
  std::shared_ptr<MpiDispatcher> dispatcher_;
};

}  // namespace shoal::mpi
