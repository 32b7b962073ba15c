// Upkeep of members: what the owner of a cluster does for its workers when it meets them: they get
// another certificate before theirs ends, and the deny list.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

struct UpkeepOptions {
  net::Time now = std::chrono::system_clock::now();
  std::string only = {};   // one worker; empty: all that are listed
  bool renew_all = false;  // not only those whose time has come
  net::Deadline deadline = net::after(std::chrono::seconds(2));  // for reaching them
};

struct MemberVisit {
  std::string name;
  Status status;  // of reaching it and, where its time had come, of renewing it
  bool renewed = false;
  std::vector<std::string> refused;  // connections it refused lately, with reasons
};

// Connects to the listed workers, all at once. The handshake tells each of them who was removed.
// Where the folder has no authority, nobody is renewed.
std::vector<MemberVisit> visit_workers(const ClusterFolder& folder,
                                       const std::vector<ListedWorker>& workers,
                                       net::Transport& transport, const UpkeepOptions& options);

// All that the folder lists, over TLS.
Result<std::vector<MemberVisit>> visit_workers(const ClusterFolder& folder,
                                               const UpkeepOptions& options);

// A member that does not hold the authority asks it, where this folder joined the cluster, for
// another certificate. Fails as net::ask_for_renewal() does, and where that place is not known.
Status renew_by_asking(const ClusterFolder& folder, net::Deadline deadline);

// For every program of the owner that uses the cluster: renews the workers whose time has come.
// Meets nobody if there are none. What fails is tried again the next time.
void renew_due_workers(const ClusterFolder& folder, net::Transport& transport);

}  // namespace shoal::cluster
