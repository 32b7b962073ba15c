// Spectral embedding of the rows of a sparse pattern [Mao 2017a]. With A as zeros and
// ones, D1 = diag(row sums) and D2 = diag(column sums),
//
//   An = D1^-1/2 A D2^-1/2 = U diag(s) Vᵀ,      Z = D1^-1/2 U diag(s).
//
// The first pair of singular vectors is trivial and left out. Rows that share columns have rows of
// Z near each other. diag(s), which the source does not have, makes directions that are mostly
// noise short. Singular vectors come from subspace iteration on Anᵀ An.
#pragma once

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random.h"
#include "shoal/plan/sparse/sparse_pattern.h"

namespace shoal::plan {

// One row for each live row of the pattern. A direction that the pattern does not have is zero.
Result<Matrix> row_embedding(const SparsePattern& pattern, size_t dimensions, RandomStream random);

}  // namespace shoal::plan
