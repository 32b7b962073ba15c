// Discovery: which workers say that they are on this network, by mDNS (DNS-SD, _shoal._tcp).
// Anybody there can say anything: it gives addresses to try, and no trust. That comes by
// certificates alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shoal/cluster/folder.h"

namespace shoal::cli {

inline constexpr const char* kServiceType = "_shoal._tcp";
inline constexpr std::chrono::seconds kDiscoveryTimeout{2};  // most answer within one

// Others find it while it lives.
class Announcement {
 public:
  virtual ~Announcement() = default;
};

// kUnavailable where no Avahi daemon runs, kUnsupported where this was built without.
Result<std::unique_ptr<Announcement>> announce(const std::string& name, uint16_t port);

// Whoever is heard of within this time, each name and address once, in order.
Result<std::vector<cluster::ListedWorker>> discover(std::chrono::milliseconds timeout);

}  // namespace shoal::cli
