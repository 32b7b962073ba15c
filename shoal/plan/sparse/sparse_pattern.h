// SparsePattern: where a fully-connected weight is not zero. Rows are outputs, columns are inputs.
// Dead rows and columns, which have no non-zero, are dropped: their values need not travel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::plan {

// Compressed rows. Indices count live rows and live columns only. A value.
struct SparsePattern {
  size_t all_rows = 0;  // with the dead ones
  size_t all_columns = 0;
  std::vector<size_t> rows;  // of each live row its number in the weight, ascending
  std::vector<size_t> columns;
  std::vector<size_t> begins = {0};  // row r has the non-zeros [begins[r], begins[r + 1])
  std::vector<uint32_t> targets;     // live columns, ascending within a row

  std::span<const uint32_t> row(size_t r) const {
    return std::span(targets).subspan(begins[r], begins[r + 1] - begins[r]);
  }

  friend bool operator==(const SparsePattern&, const SparsePattern&) = default;
};

// Whatever is not zero counts, NaN too. REQUIRES: `rows` divides the number of elements, which are
// row-major; fewer than 2^32 columns.
SparsePattern pattern_of(std::span<const float> weight, size_t rows);

// The share of elements that are not zero, estimated from a few thousand of them; 1 where there is
// none. The same on every machine.
double sampled_density(std::span<const float> weight);

SparsePattern transposed(const SparsePattern& pattern);

}  // namespace shoal::plan
