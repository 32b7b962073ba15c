// Channels over MPI, for clusters that have it: every rank is a machine, and its number its
// address. Who may take part is for mpirun and its cluster to say; there are no certificates.
#pragma once

#include <memory>

#include "shoal/net/transport.h"

namespace shoal::mpi {

class MpiDispatcher;

class Ranks {
 public:
  // Once in a process, before other threads are started.
  static Result<std::unique_ptr<Ranks>> begin();
  ~Ranks();  // waits for all ranks to come here

  int rank() const;
  int size() const;

  // Outlived by its channels and listeners, but not by the ranks.
  std::unique_ptr<net::Transport> transport(net::ChannelOptions options = {});

  void barrier();  // returns when all ranks have called it

 private:
  Ranks();
  std::shared_ptr<MpiDispatcher> dispatcher_;
};

}  // namespace shoal::mpi
