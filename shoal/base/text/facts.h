// Facts: a result as names and values for scripts, and as cells of a table for people. Those of a
// command's results are in apps/commands, one description for the table and for JSON.
//
//   std::vector<Fact> facts_of(const Report& report) {
//     return {{"requests", report.requests, "requests"},
//             {"p50_ms", report.p50, "p50 ms", 1},
//             {"hash", report.hash}};               // for scripts only
//   }
#pragma once

#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/text/json.h"
#include "shoal/base/text/number_text.h"

namespace shoal {

struct Fact {
  std::string name;  // in JSON; empty: it is for people only
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

// The facts of one result, or of one row of a table.
using Facts = std::vector<Fact>;

// A count, with commas in the table.
template <class T>
Fact counted(std::string name, T n, std::string column) {
  return {std::move(name), n, std::move(column), with_commas(static_cast<long long>(n))};
}

// A number of bytes, as "12.8 MB" in the table.
template <class T>
Fact sized(std::string name, T bytes, std::string column) {
  return {std::move(name), bytes, std::move(column), in_bytes(static_cast<long long>(bytes))};
}

// What only people see.
inline Fact shown(std::string column, std::string cell) {
  return {"", nullptr, std::move(column), std::move(cell)};
}

// The facts with names, as an object; a list of such objects.
Json object_of(const Facts& facts);
Json list_of(const std::vector<Facts>& rows);

}  // namespace shoal
