// For tests: a matrix of independent normal numbers.
#pragma once

#include <random>

#include "shoal/base/math/matrix.h"

namespace shoal {

inline Matrix random_matrix(size_t rows, size_t columns, std::mt19937& rng) {
  Matrix matrix(rows, columns);
  std::normal_distribution<double> normal;
  for (double& x : matrix.elements()) x = normal(rng);
  return matrix;
}

}  // namespace shoal
