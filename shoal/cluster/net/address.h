// Addresses: host and port as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::net {

struct Address {
  std::string host;  // "" is this machine only
  std::string port;
};

// "host:port", "[v6]:port" or ":port".
Result<Address> parse_address(std::string_view text);

// The interface to listen on.
struct Interface {
  uint16_t port = 0;
  bool is_loopback = false;  // only this machine reaches it
  bool is_all = false;       // 0.0.0.0 or [::]
};

// Takes numbers and the empty host only, so that no name server decides where to listen.
Result<Interface> parse_interface(std::string_view text);

}  // namespace shoal::net
