// The names that need no quotes in the text form, for its printer and its parser.
#pragma once

#include <algorithm>
#include <string_view>

namespace shoal {

inline bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '/' || c == ':' || c == '-';
}

// Statement keywords, and the mark of an input left out, must be quoted as names.
inline bool is_bare_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_name_character) && name != "_" &&
         name != "input" && name != "const" && name != "output";
}

}  // namespace shoal
