// Workers that say by mDNS that they are on this network, member or not.
#pragma once

#include <functional>
#include <vector>

#include "shoal/cluster/members/folder.h"
#include "shoal/cluster/net/discovery/discovery.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// Workers that are listed, and behind them those that were found elsewhere.
std::vector<ListedWorker> with_found(std::vector<ListedWorker> listed,
                                     const std::vector<net::Peer>& found);

// Lists those that show a certificate of this cluster in the name that they say. `told` is called
// for each of them, with why it is not listed, or OK. Fails if the list cannot be written.
Status list_members(const ClusterFolder& folder, const std::vector<net::Peer>& found,
                    net::Transport& transport,
                    const std::function<void(const ListedWorker&, const Status&)>& told);

}  // namespace shoal::cluster
