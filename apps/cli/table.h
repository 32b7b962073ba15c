// A table for people: columns as wide as they need to be, numbers to the right.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/number_text.h"  // the text of cells

namespace shoal::cli {

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

bool use_colour();  // stdout is a terminal and NO_COLOR is not set

}  // namespace shoal::cli
