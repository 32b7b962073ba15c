// Factors of weights: a matrix as a product of two, the filters of a convolution as three smaller
// convolutions. Pure algebra, which knows no graph. Both are the best of their rank for inputs with
// the second moment that `whitening` stands for (second_moment.h), the second nearly; without it,
// for inputs that take all directions alike.
#pragma once

#include <optional>
#include <vector>

#include "shoal/base/math/matrix.h"
#include "shoal/shrink/compress/analysis/second_moment.h"

namespace shoal::compress {

// The singular value decomposition of a matrix W [m, n], cut at any rank. A value.
class LowRank {
 public:
  // Keeps the matrix; takes time in proportion to m n min(m, n). Fails as eigen_basis() does.
  static Result<LowRank> of(Matrix weights, std::optional<Whitening> whitening);

  // Of W C^½, descending; min(m, n) of them.
  const std::vector<double>& singular_values() const { return values_; }

  struct Factors {
    Matrix left;   // [m, rank]
    Matrix right;  // [rank, n]
  };
  // left right ~ W. Column i of left is as long as row i of right, so that neither loses range when
  // it is rounded: without whitening they are U S^½ and S^½ Vᵀ. REQUIRES: 0 < rank <= min(m, n).
  Factors at(size_t rank) const;

 private:
  Matrix weights_;
  std::optional<Whitening> whitening_;
  Matrix basis_;  // the singular vectors of the shorter side, as columns
  std::vector<double> values_;
};

// The Tucker-2 decomposition of filters T [N, C, taps], cut at any pair of ranks. A value.
//
//   T[n, c, k] ~ sum over n', c' of outputs[n, n'] core[n', c', k] inputs[c', c]
class Tucker2 {
 public:
  // `filters` has a row per output and columns [C, taps]. Fails as eigen_basis() does. REQUIRES:
  // taps divides their number.
  static Result<Tucker2> of(Matrix filters, size_t taps, const std::optional<Whitening>& whitening);

  // Of the unfoldings [N, C taps] and [C, N taps] of T C^½, descending; N and C of them. What is
  // lost at ranks (n', c') is at most the sum of the squares beyond n' and beyond c'.
  const std::vector<double>& output_values() const { return output_values_; }
  const std::vector<double>& input_values() const { return input_values_; }

  struct Factors {
    Matrix outputs;  // [N, n']
    Matrix core;     // [n', c' taps]
    Matrix inputs;   // [c', C]
  };
  // `steps` are those of the higher-order orthogonal iteration, each of which may only lessen the
  // error. Fails as eigen_basis() does. REQUIRES: 0 < outputs <= N, 0 < inputs <= C.
  Result<Factors> at(size_t outputs, size_t inputs, int steps) const;

 private:
  size_t taps_ = 1;
  Matrix filters_;  // of T C^½, [N, C taps]
  std::optional<Matrix> inverse_;
  Matrix outputs_, inputs_;  // bases of the unfoldings, as columns
  std::vector<double> output_values_, input_values_;
};

// `filters` [a, b taps] with its first two axes swapped: [b, a taps].
Matrix swapped_modes(const Matrix& filters, size_t taps);
// Applies `factor` [b', b] to the second axis of `filters` [a, b taps]: [a, b' taps].
Matrix times_inputs(const Matrix& filters, const Matrix& factor, size_t taps);

}  // namespace shoal::compress
