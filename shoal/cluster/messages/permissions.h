// Permissions: which roles may send which messages. The one place that says so.
#pragma once

#include "shoal/base/status.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

namespace message {
class Message;
}

// OK iff a worker, or a coordinator, takes a message of this kind from a peer of this role. Fails
// with
//   kCorrupt          nobody sends it such a message
//   kInvalidArgument  others do; this role may not
Status check_for_worker(const message::Message& message, net::Role from);
Status check_for_coordinator(const message::Message& message, net::Role from);

// Whether an epoch of this role counts.
bool may_take_charge(net::Role role);

}  // namespace shoal::cluster
