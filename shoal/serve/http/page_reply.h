// The page at "/" and its files.
#pragma once

#include <string_view>

#include "shoal/serve/http/reply.h"

namespace shoal::serve {

// The file of that name from the binary: the name is looked up and goes nowhere else. Empty: the
// page itself. `known_tag` is the ETag of what the client has.
Reply page_reply(std::string_view name, std::string_view known_tag);

}  // namespace shoal::serve
