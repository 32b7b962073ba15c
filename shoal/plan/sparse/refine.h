// The steps of clusters.h: an embedding of rows, balanced k-means, and refinement of the partition.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random.h"
#include "shoal/plan/sparse/sparse_pattern.h"

namespace shoal::plan {

// Spectral embedding of the rows of a sparse pattern (mao 1.3.4, steps 1 to 4). With A as zeros and
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
// where the data has more groups than clusters are wanted (mao 1.3.4).
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The cluster of each point, a row of `points`. A cluster is filled above its capacity only where
// none has room, and then by no more than one point, if the capacities add up to the weights or
// more. REQUIRES: a weight for each point; a capacity, and it is positive.
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
