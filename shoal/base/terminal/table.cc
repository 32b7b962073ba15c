// Tables on stdout. A column is aligned to the right if all of its cells are numbers or empty.
#include "shoal/base/terminal/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace shoal {
namespace {

// Columns, not bytes: UTF-8 continuation bytes have no width.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

bool looks_numeric(const std::string& cell) {
  return !cell.empty() && cell.find_first_of("0123456789") == (cell[0] == '-' ? 1u : 0u);
}

std::string padded(const std::string& cell, size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(cell)), ' ');
  return right ? space + cell : cell + space;
}

std::string joined(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                   const std::vector<bool>& right) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    line += (i > 0 ? "  " : "") + padded(cells[i], widths[i], right[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

bool use_colour() { return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

std::vector<std::string> Table::lines() const {
  std::vector<size_t> widths;
  std::vector<bool> right(header_.size(), true);
  for (const std::string& cell : header_) widths.push_back(width_of(cell));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
      right[i] = right[i] && (row[i].empty() || looks_numeric(row[i]));
    }
  }
  size_t total = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (size_t w : widths) total += w;
  std::vector<std::string> lines{joined(header_, widths, right)};
  for (const auto& row : rows_) {
    lines.push_back(row.empty() ? std::string(total, '-') : joined(row, widths, right));
  }
  return lines;
}

void Table::print() const {
  const std::vector<std::string> all = lines();
  const char* bold = use_colour() ? "\033[1m" : "";
  const char* plain = use_colour() ? "\033[0m" : "";
  std::printf("%s%s%s\n", bold, all[0].c_str(), plain);
  for (size_t i = 1; i < all.size(); ++i) std::printf("%s\n", all[i].c_str());
}

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

}  // namespace shoal
