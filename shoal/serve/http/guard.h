// Guards against pages of others: a browser sends what any page tells it to, with the rights of
// whoever sits in front of it, and to addresses that only this machine reaches.
//
// Browsers say whose page it is (Origin, Sec-Fetch-Site) with every POST. Other programs say
// neither, and are let through. The server never allows a page of others to read its answers: there
// are no CORS headers.
#pragma once

#include <optional>

#include "shoal/serve/http/reply.h"
#include "shoal/serve/protocol/call.h"

namespace shoal::serve {

// Nothing, or how to refuse a POST that a page of others has sent:
//  * 403 if its origin is not this server, or, unless `any_name`, if the server is called by a
//  name:
//    its owner can let it mean this machine (DNS rebinding). A server that only this machine
//    reaches has no other name than localhost.
//  * 415 for a call that changes the server with a body of a type that forms send, for browsers
//    that do not say whose page it is.
std::optional<Reply> check_page(const HttpHead& head, const Route& route, bool any_name);

}  // namespace shoal::serve
