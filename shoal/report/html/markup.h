// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace shoal::page {

// Escapes text of any origin for an element or a quoted attribute. Bytes that are not UTF-8, and
// control characters that XML forbids, become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace shoal::page
