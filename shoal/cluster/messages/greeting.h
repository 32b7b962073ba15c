// Greetings: connections from a coordinator to workers. Each begins with a Hello and the Welcome
// that answers it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/cluster/messages/listed_worker.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// The claim of a coordinator to its workers: see CoordinatorOptions::epoch.
struct EpochClaim {
  uint64_t number = 0;
  // Drawn by each coordinator. Two copies of a cluster's folder give two coordinators the same
  // epoch; workers follow only one of them.
  uint64_t nonce = 0;
  // Called when a worker refuses, with the epoch it follows. On any thread.
  std::function<void(uint64_t latest)> refused = nullptr;
};

struct WorkerInfo {
  std::string name;  // as certified
  std::string address;
  int threads = 0;
  // Nanoseconds by which the worker's clock is ahead of the coordinator's. Measured when the first
  // traced plan is deployed there.
  std::optional<int64_t> clock_ahead = std::nullopt;
  // Peers that the worker refused lately, with reasons. It tells owners only.
  std::vector<std::string> refused = {};
  // Latest factor by which other programs slow its machine down: see plan::slowdown().
  std::optional<double> slowdown = std::nullopt;
};

// Greets the worker at the other end. Fails with
//
//   kInvalidArgument  another name in its certificate, or it follows another coordinator's epoch
//   kUnsupported      it speaks another version of the protocol
//   kDeadline         it did not answer before `deadline`
//
Result<WorkerInfo> greet(net::Channel& channel, const ListedWorker& worker, const EpochClaim& epoch,
                         net::Deadline deadline);

struct GreetedWorker {
  std::shared_ptr<net::Channel> channel;
  WorkerInfo info;
};

// Connects and greets. Connecting must end before `deadline`; the greeting may take up to two
// seconds more. A status that is not OK names the worker.
Result<GreetedWorker> connect_to(const ListedWorker& worker, net::Transport& transport,
                                 const EpochClaim& epoch, net::Deadline deadline);

// Connects to all of them at the same time, so that any number of absent workers cost one timeout
// together. Results are in the order of the workers.
std::vector<Result<GreetedWorker>> connect_to_all(std::span<const ListedWorker> workers,
                                                  net::Transport& transport,
                                                  const EpochClaim& epoch, net::Deadline deadline);

}  // namespace shoal::cluster
