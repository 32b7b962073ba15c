// Addresses as users write them.
#pragma once

#include <boost/asio/ip/tcp.hpp>
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

// Where to listen: only numbers and the empty host, so that no name server has a say in it.
Result<boost::asio::ip::tcp::endpoint> listening_endpoint(std::string_view text);

std::string to_string(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace shoal::net
