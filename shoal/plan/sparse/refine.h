// Refinement of a partition of rows by moves and swaps that lower the exact number of values
// exchanged: with count(c, p) the non-zeros that part p has in column c,
//
//   exchanged = sum over columns c of (parts p with count(c, p) > 0) - 1,
//
// which is the connectivity metric of hypergraph partitioning. Among equals it raises the sum of
// count², so that the parts that need a column for little need it for still less.
#pragma once

#include <span>
#include <vector>

#include "shoal/base/math/random.h"
#include "shoal/plan/sparse/sparse_pattern.h"

namespace shoal::plan {

// count(c, p) at [c * parts + p].
std::vector<uint32_t> column_counts(const SparsePattern& pattern, std::span<const size_t> row_parts,
                                    size_t parts);

// A part takes no row that makes its non-zeros more than its limit, unless it gives away a row with
// as many or more. REQUIRES: a part below limits.size() for each row.
std::vector<size_t> refined(const SparsePattern& pattern, std::vector<size_t> row_parts,
                            std::span<const double> limits, RandomStream random);

}  // namespace shoal::plan
