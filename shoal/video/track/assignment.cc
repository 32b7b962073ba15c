#include "shoal/video/track/assignment.h"

#include <limits>

#include "shoal/base/status.h"

namespace shoal::track {
namespace {

Costs transposed(const Costs& costs) {
  Costs other{.rows = costs.columns, .columns = costs.rows};
  for (size_t c = 0; c < costs.columns; ++c) {
    for (size_t r = 0; r < costs.rows; ++r) other.values.push_back(costs.at(r, c));
  }
  return other;
}

// The column of each row. REQUIRES: rows <= columns. Rows and columns count from 1 inside; row 0
// and column 0 are where a search begins.
std::vector<size_t> assign_all(const Costs& costs) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const size_t rows = costs.rows, columns = costs.columns;
  std::vector<double> of_row(rows + 1, 0), of_column(columns + 1, 0);  // potentials
  std::vector<size_t> row_of(columns + 1, 0), way(columns + 1, 0);
  for (size_t row = 1; row <= rows; ++row) {
    row_of[0] = row;
    size_t column = 0;
    std::vector<double> least(columns + 1, kInfinite);
    std::vector<bool> used(columns + 1, false);
    do {  // the shortest path to a free column
      used[column] = true;
      const size_t here = row_of[column];
      double step = kInfinite;
      size_t next = 0;
      for (size_t c = 1; c <= columns; ++c) {
        if (used[c]) continue;
        const double cost = costs.at(here - 1, c - 1) - of_row[here] - of_column[c];
        if (cost < least[c]) {
          least[c] = cost;
          way[c] = column;
        }
        if (least[c] < step) {
          step = least[c];
          next = c;
        }
      }
      for (size_t c = 0; c <= columns; ++c) {
        if (used[c]) {
          of_row[row_of[c]] += step;
          of_column[c] -= step;
        } else {
          least[c] -= step;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    while (column != 0) {
      row_of[column] = row_of[way[column]];
      column = way[column];
    }
  }
  std::vector<size_t> column_of(rows, kUnassigned);
  for (size_t c = 1; c <= columns; ++c) {
    if (row_of[c] != 0) column_of[row_of[c] - 1] = c - 1;
  }
  return column_of;
}

}  // namespace

std::vector<size_t> assign(const Costs& costs, double most) {
  SHOAL_CHECK(costs.values.size() == costs.rows * costs.columns);
  std::vector<size_t> column_of(costs.rows, kUnassigned);
  if (costs.rows == 0 || costs.columns == 0) return column_of;
  if (costs.rows <= costs.columns) {
    column_of = assign_all(costs);
  } else {
    const std::vector<size_t> row_of = assign_all(transposed(costs));
    for (size_t c = 0; c < row_of.size(); ++c) column_of[row_of[c]] = c;
  }
  for (size_t r = 0; r < costs.rows; ++r) {
    if (column_of[r] != kUnassigned && costs.at(r, column_of[r]) > most) {
      column_of[r] = kUnassigned;
    }
  }
  return column_of;
}

}  // namespace shoal::track
