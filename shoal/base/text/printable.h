// Text from a file or a peer, as a message may show it.
#pragma once

#include <string>
#include <string_view>

namespace shoal {

// One line of valid UTF-8 without control characters, which are shown as \xNN, as are bytes that
// are no UTF-8. Cut at `limit` bytes.
std::string printable(std::string_view text, size_t limit = 256);

// The text with U+FFFD in place of each byte that is no UTF-8, for formats that demand it.
std::string valid_utf8(std::string_view text);

}  // namespace shoal
