// FaultyTransport: injects the faults of SharedNetworkFaults into the bytes that a machine
// receives.
#pragma once

#include <memory>

#include "shoal/emulate/network_faults.h"
#include "shoal/net/stream.h"
#include "shoal/net/tls/tls.h"

namespace shoal::emulate {

// Returns the channels of machine `self` (a worker's number, or plan::kCoordinator) over TLS. Bytes
// that come in are held back, delayed and damaged here, the latter below TLS, which is to notice;
// what goes out is the receiver's to hold back. While a way is cut, connecting by it does not
// succeed.
Result<std::unique_ptr<net::Transport>> make_faulty_transport(
    const net::Identity& identity, net::TlsOptions options,
    std::shared_ptr<SharedNetworkFaults> faults, int self);

// The part of it that does not need TLS: streams that hold back, delay and break off.
std::shared_ptr<const net::Decorator> make_faulty_streams(
    std::shared_ptr<SharedNetworkFaults> faults, int self);

}  // namespace shoal::emulate
