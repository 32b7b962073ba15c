// Assignment: rows to columns with the least sum of costs, by the Hungarian method with
// potentials, O(rows^2 columns).
#pragma once

#include <cstddef>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::track {

inline constexpr size_t kUnassigned = static_cast<size_t>(-1);

// A table of costs, row by row.
struct Costs {
  size_t rows = 0, columns = 0;
  std::vector<double> values = {};

  // The cost of a pair.
  double at(size_t row, size_t column) const { return values[row * columns + column]; }
};

// The column of each row, or kUnassigned; each column once. As many pairs as possible are made with
// the least sum; then pairs that cost more than `most` are undone. REQUIRES: costs are finite, and
// values has rows * columns of them.
std::vector<size_t> assign(const Costs& costs, double most);

}  // namespace shoal::track

#pragma GCC visibility pop
