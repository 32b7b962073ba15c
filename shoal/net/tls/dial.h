// Dial: from an address to a peer who has shown who he is.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string_view>

#include "shoal/net/tls/handshake.h"

namespace shoal::net {

// Waits for it, which happens on the thread of the io_context.
Result<Introduced> dial(boost::asio::io_context& io, std::string_view address,
                        std::shared_ptr<SSL_CTX> context, const Terms& terms, Deadline deadline);

}  // namespace shoal::net
