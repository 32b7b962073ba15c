// Names that match shell patterns: "conv*", "fc[12].*".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shoal {

// Whether any of the patterns matches all of the name, as fnmatch(3) does it.
bool matches_any(std::span<const std::string> patterns, std::string_view name);

}  // namespace shoal
