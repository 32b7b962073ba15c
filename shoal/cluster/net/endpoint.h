// Endpoints: Asio's addresses. Apart from address.h, because Asio takes seconds to compile.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::net {

// The endpoint to listen on, for the text that parse_interface() takes.
Result<boost::asio::ip::tcp::endpoint> listening_endpoint(std::string_view text);

std::string to_string(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace shoal::net
