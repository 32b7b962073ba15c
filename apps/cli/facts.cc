#include "facts.h"

namespace shoal::cli {

Json object_of(const std::vector<Fact>& facts) {
  Json object = Json::object();
  for (const Fact& fact : facts) object[fact.name] = fact.value;
  return object;
}

void print_facts(const std::vector<Fact>& facts, bool json) {
  if (json) return print_json(object_of(facts));
  std::vector<std::string> columns, cells;
  for (const Fact& fact : facts) {
    if (fact.column.empty()) continue;
    columns.push_back(fact.column);
    cells.push_back(fact.cell);
  }
  Table table(std::move(columns));
  table.add(std::move(cells));
  table.print();
}

}  // namespace shoal::cli
