#include "facts.h"

namespace shoal::cli {

Table table_of(const std::vector<Facts>& rows, std::vector<std::string> columns) {
  if (!rows.empty()) {
    columns.clear();
    for (const Fact& fact : rows[0]) {
      if (!fact.column.empty()) columns.push_back(fact.column);
    }
  }
  Table table(std::move(columns));
  for (const Facts& row : rows) {
    std::vector<std::string> cells;
    for (const Fact& fact : row) {
      if (!fact.column.empty()) cells.push_back(fact.cell);
    }
    table.add(std::move(cells));
  }
  return table;
}

void print_facts(const Facts& facts, bool json) {
  json ? print_json(object_of(facts)) : table_of({facts}).print();
}

}  // namespace shoal::cli
