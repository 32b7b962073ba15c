// Permissions: which roles may send which messages, in one place.
#pragma once

#include "shoal/base/status.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

namespace message {
class Message;
}

// OK iff a worker, or a coordinator, accepts a message of this kind from a peer of this role. Fails
// with
//   kCorrupt          no role may send it such a message
//   kInvalidArgument  this role may not, others may
Status check_for_worker(const message::Message& message, net::Role from);
Status check_for_coordinator(const message::Message& message, net::Role from);

// Whether an epoch of this role counts.
bool may_take_charge(net::Role role);

}  // namespace shoal::cluster
