#include "shoal/cluster/members/discovered.h"

#include <algorithm>

#include "shoal/cluster/profiling/worker_probe.h"

namespace shoal::cluster {

std::vector<ListedWorker> with_found(std::vector<ListedWorker> listed,
                                     const std::vector<net::Peer>& found) {
  for (const net::Peer& peer : found) {
    const ListedWorker worker{peer.name, peer.address};
    if (std::ranges::find(listed, worker) == listed.end()) listed.push_back(worker);
  }
  return listed;
}

Status list_members(const ClusterFolder& folder, const std::vector<net::Peer>& found,
                    net::Transport& transport,
                    const std::function<void(const ListedWorker&, const Status&)>& told) {
  for (const net::Peer& peer : found) {
    const ListedWorker worker{peer.name, peer.address};
    const Status member = WorkerProbe::open(worker, transport).status();
    if (member.ok()) SHOAL_TRY(folder.add(worker));
    told(worker, member);
  }
  return {};
}

}  // namespace shoal::cluster
