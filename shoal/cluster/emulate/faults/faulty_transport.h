// FaultyTransport: injects the faults of SharedNetworkFaults into the bytes a machine receives.
#pragma once

#include <memory>

#include "shoal/cluster/emulate/faults/network_faults.h"
#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/tls/tls.h"

namespace shoal::emulate {

// The channels of machine `self` (a worker's number, or plan::kCoordinator) over TLS. Incoming
// bytes are held back, delayed and damaged here; damage happens below TLS, which has to detect it.
// Outgoing bytes are held back by their receiver. Connecting over a cut link fails.
Result<std::unique_ptr<net::Transport>> make_faulty_transport(
    const net::Identity& identity, net::TlsOptions options,
    std::shared_ptr<SharedNetworkFaults> faults, int self);

// The part without TLS: streams that hold back, delay and break off.
std::shared_ptr<const net::Decorator> make_faulty_streams(
    std::shared_ptr<SharedNetworkFaults> faults, int self);

}  // namespace shoal::emulate
