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
  std::function<void(const std::string&)> log = nullptr;  // a line; null: nobody listens
};

// Joins by the token where the folder has no identity, or one that has expired: with the key of the
// folder, so that who joined before gets the same name again. A supervisor starts a worker with the
// same token every time; it is used the first. kInvalidArgument, with what to do, where there is no
// token though it takes one, where the token is of another cluster, or where the identity is that
// of no worker.
Result<std::shared_ptr<Membership>> open_worker_membership(const WorkerJoin& join);

}  // namespace shoal::net
