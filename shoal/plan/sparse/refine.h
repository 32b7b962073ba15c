// The steps of clusters.h: an embedding of rows, balanced k-means, and refinement of the partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random.h"

namespace shoal::plan {

// SparsePattern: where a fully-connected weight is not zero. Rows are outputs, columns are inputs.
// Dead rows and columns, which have no non-zero, are dropped: their values need not travel.
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

// Every element that is not zero counts, NaN too. REQUIRES: `rows` divides the number of elements,
// which are row-major; fewer than 2^32 columns.
SparsePattern pattern_of(std::span<const float> weight, size_t rows);

// The share of elements that are not zero, estimated from a few thousand of them; 1 if there is
// none. The same on every machine.
double sampled_density(std::span<const float> weight);

SparsePattern transposed(const SparsePattern& pattern);

// Spectral embedding of the rows of a sparse pattern [Mao 2017a]. With A as zeros and
// ones, D1 = diag(row sums) and D2 = diag(column sums),
//
//   An = D1^-1/2 A D2^-1/2 = U diag(s) Vᵀ,      Z = D1^-1/2 U diag(s).
//
// The first pair of singular vectors is trivial and left out. Rows that share columns have rows of
// Z near each other. diag(s), which the source does not have, makes directions that are mostly
// noise short. Singular vectors come from subspace iteration on Anᵀ An.

// One row for each live row of the pattern. A direction that the pattern does not have is zero.
Result<Matrix> row_embedding(const SparsePattern& pattern, size_t dimensions, RandomStream random);

// k-means with a capacity for each cluster. Plain k-means makes clusters of very unequal sizes
// where the data has more groups than clusters are wanted [Mao 2017a].
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The cluster of each point, a row of `points`. A cluster exceeds its capacity only if all are
// full, and then by no more than one point, if the capacities add up to the weights or more.
// REQUIRES: a weight for each point; a capacity, and it is positive.
std::vector<size_t> balanced_k_means(const Matrix& points, std::span<const double> weights,
                                     std::span<const double> capacities, RandomStream random);

// Refinement of a partition of rows by moves and swaps that lower the exact number of values
// exchanged: with count(c, p) the non-zeros that part p has in column c,
//
//   exchanged = sum over columns c of (parts p with count(c, p) > 0) - 1,
//
// which is the connectivity metric of hypergraph partitioning. Among equals it raises the sum of
// count², so that the parts that need a column for little need it for still less.

// count(c, p) at [c * parts + p].
std::vector<uint32_t> column_counts(const SparsePattern& pattern, std::span<const size_t> row_parts,
                                    size_t parts);

// A part takes no row that makes its non-zeros more than its limit, unless it gives away a row with
// as many or more. REQUIRES: a part below limits.size() for each row.
std::vector<size_t> refined(const SparsePattern& pattern, std::vector<size_t> row_parts,
                            std::span<const double> limits, RandomStream random);

}  // namespace shoal::plan
