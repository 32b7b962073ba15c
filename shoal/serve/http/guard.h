// Guards against cross-site requests: a browser sends whatever any page tells it to, with its
// user's rights, and to addresses that only this machine reaches.
//
// Browsers send the page's origin (Origin, Sec-Fetch-Site) with every POST. Other programs send
// neither, and are let through. Other pages can never read the server's answers: there are no CORS
// headers.
#pragma once

#include <optional>

#include "shoal/serve/http/reply.h"
#include "shoal/serve/protocol/call.h"

namespace shoal::serve {

// nullopt, or the refusal of a cross-site POST:
//  * 403 if its origin is not this server, or, unless `any_name`, if the server is called by a
//    name, whose owner can let it mean this machine (DNS rebinding). A server that only this
//    machine reaches has no other name than localhost.
//  * 415 for a call that changes the server with a body of a type that forms send, for browsers
//    that do not send the origin.
std::optional<Reply> check_page(const HttpHead& head, const Route& route, bool any_name);

}  // namespace shoal::serve
