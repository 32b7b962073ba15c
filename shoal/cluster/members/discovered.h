// Workers that announce themselves by mDNS on this network, members or not.
#pragma once

#include <functional>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/discovery/discovery.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// Listed workers, followed by those that were found elsewhere.
std::vector<ListedWorker> with_found(std::vector<ListedWorker> listed,
                                     const std::vector<net::Peer>& found);

// Lists the workers that show a certificate of this cluster for their announced name. `told` is
// called for each, with OK or the reason why it is not listed. Fails if the list cannot be written.
Status list_members(const ClusterFolder& folder, const std::vector<net::Peer>& found,
                    net::Transport& transport,
                    const std::function<void(const ListedWorker&, const Status&)>& told);

}  // namespace shoal::cluster
