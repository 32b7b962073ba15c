// A table for people: columns fit their content, numbers are aligned right.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"

namespace shoal {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void add_rule() { rows_.emplace_back(); }  // a line across, before totals

  // The header first.
  std::vector<std::string> lines() const;
  // Bold header on a terminal, unless NO_COLOR is set.
  void print() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// A row for each. The columns are those of the first or, if there is none, these. REQUIRES: all
// rows have the same columns.
Table table_of(const std::vector<Facts>& rows, std::vector<std::string> columns = {});

bool use_colour();  // stdout is a terminal and NO_COLOR is not set

}  // namespace shoal
