// Shared by the fuzzers of workers and coordinators.
#pragma once

#include <chrono>
#include <cstdio>

#include "shoal/net/transport.h"

namespace shoal {

// No peer is lost for silence: a busy machine may not let a thread run for a while.
inline net::ChannelOptions unhurried() {
  net::ChannelOptions options;
  options.beat = std::chrono::minutes(1);
  return options;
}

[[noreturn]] inline void fail(const char* why) {
  std::fprintf(stderr, "%s\n", why);
  __builtin_trap();
}

}  // namespace shoal
