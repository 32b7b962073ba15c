// A table for people: columns as wide as they need to be, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace shoal::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void add_rule() { rows_.emplace_back(); }  // a line across, before totals

  // Bold header on a terminal, unless NO_COLOR is set.
  void print() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

bool use_colour();  // stdout is a terminal and NO_COLOR is not set

std::string with_commas(long long n);     // 61,100,840
std::string in_bytes(long long n);        // 12.8 MB
std::string fixed(double x, int digits);  // 0.123

}  // namespace shoal::cli
