// Dial: from an address to an authenticated peer.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string_view>

#include "shoal/cluster/net/tls/handshake.h"

namespace shoal::net {

// Blocks until the handshake, which runs on the thread of the io_context, is over. REQUIRES: called
// on another thread.
Result<Introduced> dial(boost::asio::io_context& io, std::string_view address,
                        std::shared_ptr<SSL_CTX> context, const Terms& terms, Deadline deadline);

}  // namespace shoal::net
