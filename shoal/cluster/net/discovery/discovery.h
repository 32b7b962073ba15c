// Discovery: finds workers that announce themselves on this network, by mDNS (DNS-SD, _shoal._tcp).
//
// Anybody on the network can announce anything: discovery gives addresses to try, and no trust.
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

// Others find the worker while it lives.
class Announcement {
 public:
  virtual ~Announcement() = default;
};

// Announces a worker of this name on all interfaces. kUnavailable where no Avahi daemon runs. If
// the daemon goes away later, it is announced again when that comes back.
Result<std::unique_ptr<Announcement>> announce(const std::string& name, uint16_t port);

// The workers that are heard of within this time, each name and address once, in order.
Result<std::vector<Peer>> discover(std::chrono::milliseconds timeout);

}  // namespace shoal::net
