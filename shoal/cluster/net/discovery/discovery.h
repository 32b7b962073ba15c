// Discovery: finds workers that announce themselves on this network, by mDNS (DNS-SD, _shoal._tcp).
//
// Any machine on the network can announce anything: discovery gives addresses to try, and no trust.
// Trust comes from certificates alone. It needs the Avahi daemon, and a build with
// libavahi-client-dev; without, both functions fail with kUnsupported.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/net/transport.h"

namespace shoal::net {

inline constexpr const char* kServiceType = "_shoal._tcp";
inline constexpr std::chrono::seconds kDiscoveryTimeout{2};  // most answer within one

// Others can find the worker while it lives.
class Announcement {
 public:
  virtual ~Announcement() = default;
};

// Announces a worker of this name on all interfaces. kUnavailable if no Avahi daemon runs. If the
// daemon is restarted later, the worker is announced again.
Result<std::unique_ptr<Announcement>> announce(const std::string& name, uint16_t port);

// The workers found within this time, each name and address once, sorted.
Result<std::vector<Peer>> discover(std::chrono::milliseconds timeout);

}  // namespace shoal::net
