#include "shoal/base/text/glob.h"

#include <fnmatch.h>

#include <algorithm>

namespace shoal {

bool matches_any(std::span<const std::string> patterns, std::string_view name) {
  const std::string text(name);
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
  });
}

}  // namespace shoal
