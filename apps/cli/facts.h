// Prints results: tables for people, or JSON for scripts.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "apps/flags/json.h"
#include "shoal/base/terminal/table.h"

namespace shoal::cli {

inline void print_text(const std::string& text) { std::fputs(text.c_str(), stdout); }

inline void print_lines(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
}

// One row, or one object.
inline void print_facts(const Facts& facts, bool json) {
  json ? print_json(object_of(facts)) : table_of({facts}).print();
}

// The command's to_json(), or the table of its rows_of() and below it its lines_of().
template <class... Found>
void print_found(bool json, const Found&... found) {
  if (json) return print_json(to_json(found...));
  table_of(rows_of(found...)).print();
  print_lines(lines_of(found...));
}

}  // namespace shoal::cli
