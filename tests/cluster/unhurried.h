// Channels for tests and fuzzers whose peers may be slow.
#pragma once

#include <chrono>

#include "shoal/cluster/net/transport.h"

namespace shoal::cluster {

// No peer is given up for silence: a busy machine may not let a thread run for a while.
inline net::ChannelOptions unhurried() {
  net::ChannelOptions options;
  options.beat = std::chrono::minutes(1);
  return options;
}

}  // namespace shoal::cluster
