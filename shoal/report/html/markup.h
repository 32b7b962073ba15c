// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace shoal::page {

// Text of any origin as an element or an attribute in quotes can hold it. Bytes that are no UTF-8,
// and control characters that XML forbids, become U+FFFD.
std::string escaped(std::string_view text);

}  // namespace shoal::page
