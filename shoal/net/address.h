// Addresses as users write them.
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

// Where to listen.
struct Interface {
  uint16_t port = 0;
  bool is_loopback = false;  // only this machine reaches it
  bool is_all = false;       // 0.0.0.0 or [::]
};

// Only numbers and the empty host, so that no name server has a say in it.
Result<Interface> parse_interface(std::string_view text);

}  // namespace shoal::net
