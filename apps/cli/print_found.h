// What a room says of a result, printed.
#pragma once

#include <cstdio>
#include <string>

#include "facts.h"

namespace shoal::cli {

// The room's to_json(), or the table of its rows_of() and below it its lines_of().
template <class... Found>
void print_found(bool json, const Found&... found) {
  if (json) return print_json(to_json(found...));
  table_of(rows_of(found...)).print();
  for (const std::string& line : lines_of(found...)) std::printf("%s\n", line.c_str());
}

}  // namespace shoal::cli
