// Upkeep of members: renews the certificates of an owner's workers before they end, and hands them
// the deny list.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

struct UpkeepOptions {
  net::Time now = std::chrono::system_clock::now();
  std::string only = {};   // one worker; empty: all that are listed
  bool renew_all = false;  // not only those that are due
  net::Deadline deadline = net::after(std::chrono::seconds(2));  // for reaching them
};

struct MemberVisit {
  std::string name;
  Status status;  // of reaching it and, where its time had come, of renewing it
  bool renewed = false;
  std::vector<std::string> refused;  // connections it refused lately, with reasons
};

// Connects to the listed workers, all at once. The handshake tells each of them the removed
// members. Without the authority, no certificate is renewed.
std::vector<MemberVisit> visit_workers(const ClusterFolder& folder,
                                       const std::vector<ListedWorker>& workers,
                                       net::Transport& transport, const UpkeepOptions& options);

// Likewise for all that the folder lists, over TLS.
Result<std::vector<MemberVisit>> visit_workers(const ClusterFolder& folder,
                                               const UpkeepOptions& options);

// A member without the authority asks it for another certificate, at the address where this folder
// joined the cluster. Fails as net::ask_for_renewal() does, and if that address is not known.
Status renew_by_asking(const ClusterFolder& folder, net::Deadline deadline);

// For every program of the owner that uses the cluster: renews the workers that are due. Connects
// to none if there are none. What fails is tried again the next time.
void renew_due_workers(const ClusterFolder& folder, net::Transport& transport);

}  // namespace shoal::cluster
