// Facts: a result said once, which people see as a row of a table and scripts as a JSON object.
//
//   print_facts({{"requests", report.requests, "requests"},
//          {"p50_ms", report.p50, "p50 ms", 1},
//          {"hash", report.hash}},          // for scripts only
//         flags.json);
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "apps/flags/json.h"
#include "table.h"

namespace shoal::cli {

struct Fact {
  std::string name;  // in JSON
  Json value;
  std::string column = {}, cell = {};  // of the table; no column: it is not in it

  Fact(std::string fact, Json all) : name(std::move(fact)), value(std::move(all)) {}
  Fact(std::string fact, Json all, std::string head, std::string text)
      : name(std::move(fact)),
        value(std::move(all)),
        column(std::move(head)),
        cell(std::move(text)) {}
  template <std::integral T>
  Fact(std::string fact, T n, std::string head)
      : Fact(std::move(fact), n, std::move(head), std::to_string(n)) {}
  Fact(std::string fact, std::string text, std::string head)
      : Fact(std::move(fact), text, std::move(head), text) {}
  Fact(std::string fact, double x, std::string head, int digits, const std::string& unit = "")
      : Fact(std::move(fact), x, std::move(head), fixed(x, digits) + unit) {}
};

// A count, with commas in the table.
template <class T>
Fact counted(std::string name, T n, std::string column) {
  return {std::move(name), n, std::move(column), with_commas(static_cast<long long>(n))};
}

Json object_of(const std::vector<Fact>& facts);
void print_facts(const std::vector<Fact>& facts, bool json);

}  // namespace shoal::cli
