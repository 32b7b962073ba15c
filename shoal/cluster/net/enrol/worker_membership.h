// The membership of a worker: that of its folder, or one that it joins by a token.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "shoal/base/status.h"
#include "shoal/cluster/net/tls/membership.h"

namespace shoal::net {

struct WorkerJoin {
  std::filesystem::path folder;
  std::string token;   // what 'shoal cluster invite' printed; empty: none
  std::string name;    // to join by, where the folder has none
  std::string listen;  // the interface and the port, for the authority to remember
  std::chrono::seconds timeout{20};
  std::function<Time()> clock = std::chrono::system_clock::now;
  std::function<void(const std::string&)> log = nullptr;  // a line; null: not logged
};

// Joins by the token if the folder has no identity, or an expired one: with the key of the folder,
// so that the worker gets the same name again. A supervisor starts a worker with the same token
// every time; it is used the first time. kInvalidArgument, with advice, if there is no token and
// one is needed, if the token is of another cluster, or if the identity is not a worker's.
Result<std::shared_ptr<Membership>> open_worker_membership(const WorkerJoin& join);

}  // namespace shoal::net
