// TLS transport: channels over TCP with TLS 1.3; both sides show a certificate of one cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "shoal/cluster/net/stream.h"
#include "shoal/cluster/net/tls/identity.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::net {

class Membership;

inline constexpr uint16_t kProtocolVersion = 2;

struct TlsOptions {
  ChannelOptions channel;
  std::chrono::milliseconds handshake{3000};  // for a stranger to show a certificate; connect() has
                                              // a deadline of its own
  size_t max_strangers = 256;                 // handshakes at a time; one more cuts off the oldest
  size_t max_channels_per_peer = 16;          // that were accepted and live
  size_t max_waiting = 64;                    // for accept()
  uint16_t version = kProtocolVersion;
  // A tap for the channels to a peer, for tests that damage bytes.
  std::function<Tap(const Peer&)> tap;
  // Called for every refused peer, with the reason, on a thread of the transport. Must not block.
  std::function<void(const Status&)> refused;
  // For an identity that is renewed while channels are open, and a stored deny list. Null: the
  // identity is fixed, and the deny list is kept in memory.
  std::shared_ptr<Membership> membership;
};

// Addresses are "host:port", "[v6]:port", or ":port" for this machine only; port 0 chooses one.
// Channels to members that are removed from the cluster are closed. REQUIRES: the membership, if
// given, is that of the identity.
Result<std::unique_ptr<Transport>> make_tls_transport(const Identity& identity,
                                                      TlsOptions options = {});

}  // namespace shoal::net
