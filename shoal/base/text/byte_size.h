// Sizes as a user writes them: "200MB".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shoal {

// The number of bytes in a text such as "1.5GB". Units are kB, MB and GB, powers of 1000. Nothing
// if the text is no size, or not between one byte and 1 EB.
std::optional<int64_t> parse_byte_size(std::string_view text);

}  // namespace shoal
