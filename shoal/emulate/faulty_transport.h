// FaultyTransport: channels of a machine that is exposed to the faults.
#pragma once

#include <memory>

#include "shoal/emulate/network_faults.h"
#include "shoal/net/tls/tls.h"

namespace shoal::emulate {

// Of this worker, or of the coordinator. What comes in is held back, broken off and damaged here;
// what goes out is the others' to hold back. Where a way is cut, nobody gets connected by it.
Result<std::unique_ptr<net::Transport>> make_faulty_transport(
    const net::Identity& identity, net::TlsOptions options,
    std::shared_ptr<SharedNetworkFaults> faults, int self);

}  // namespace shoal::emulate
