// Greetings: connections from a coordinator to workers. Each begins with a Hello and the Welcome
// that answers it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/listed_worker.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

struct WorkerInfo {
  std::string name;  // as certified
  std::string address;
  int threads = 0;
  // Nanoseconds that the worker's clock is ahead of the coordinator's. Measured when the first
  // traced plan is deployed there.
  std::optional<int64_t> clock_ahead = std::nullopt;
  // Whom the worker did not let in lately, and why. It tells owners only.
  std::vector<std::string> refused = {};
};

// Greets the worker at the other end. Fails with
//
//   kInvalidArgument  another name in its certificate, or it follows a coordinator of a later epoch
//   kUnsupported      it speaks another version of the protocol
//   kDeadline         it did not answer before `deadline`
//
// `epoch` is that of CoordinatorOptions.
Result<WorkerInfo> greet(net::Channel& channel, const ListedWorker& worker, uint64_t epoch,
                         net::Deadline deadline);

struct GreetedWorker {
  std::shared_ptr<net::Channel> channel;
  WorkerInfo info;
};

// Connects and greets. The connection must be there before `deadline`; the greeting may take up to
// two seconds more. A status that is not OK names the worker.
Result<GreetedWorker> connect_to(const ListedWorker& worker, net::Transport& transport,
                                 uint64_t epoch, net::Deadline deadline);

// Connects to all of them at the same time, so that any number of absent workers cost one timeout
// together. The results are in the order of the workers.
std::vector<Result<GreetedWorker>> connect_to_all(std::span<const ListedWorker> workers,
                                                  net::Transport& transport, uint64_t epoch,
                                                  net::Deadline deadline);

}  // namespace shoal::cluster
