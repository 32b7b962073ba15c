// Greeting: how a coordinator begins to talk to a worker.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/net/transport.h"

namespace shoal::cluster {

struct WorkerInfo {
  std::string name;
  std::string address;
  int threads = 0;
  int64_t clock_ahead = 0;  // of the coordinator's, in nanoseconds
};

// Fails where the worker speaks another version, or follows a coordinator of a later epoch.
Result<WorkerInfo> greet(net::Channel& channel, const std::string& address, uint64_t epoch,
                         net::Deadline deadline);

}  // namespace shoal::cluster
