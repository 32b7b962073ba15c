// Factors of weights: a matrix as a product of two, the filters of a convolution as three smaller
// convolutions. Pure algebra. The first is optimal for its rank, the second nearly, for inputs with
// the second moment of `whitening`, or isotropic inputs without.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/math/matrix.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::compress {

// SecondMoment: the directions of a layer's inputs. An error D of the weights changes the outputs,
// on average over the inputs, by
//
//   E ||D x||² = trace(D C Dᵀ) = ||D C^½||²,   C = E[x xᵀ]
//
// so that weights W are best approximated by the best approximation of W C^½, times C^-½.

// C^½ and C^-½.
struct Whitening {
  Matrix root;
  Matrix inverse;
};

// The features are the channels of a convolution, or the columns of a product's input. A value.
class SecondMoment {
 public:
  explicit SecondMoment(size_t features) : sum_(features, features) {}

  // The inputs of one run, with the features along this axis. REQUIRES: f32, and as many features.
  void add(const Tensor& x, size_t axis);

  // C is that of the inputs and of n more for n features, isotropic and of average size: few inputs
  // say too little about a layer. kInvalidArgument if an input was not finite.
  Result<Whitening> whitening() const;

 private:
  Matrix sum_;  // of x xᵀ
  double count_ = 0;
};

// The singular value decomposition of a matrix W [m, n], truncated at any rank. A value.
class LowRank {
 public:
  // Takes time in proportion to m n min(m, n). Fails as eigen_basis() does.
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

  // Of the unfoldings [N, C taps] and [C, N taps] of T C^½, descending; N and C of them. The loss
  // at ranks (n', c') is at most the sum of the squares beyond n' and c'.
  const std::vector<double>& output_values() const { return output_values_; }
  const std::vector<double>& input_values() const { return input_values_; }

  struct Factors {
    Matrix outputs;  // [N, n']
    Matrix core;     // [n', c' taps]
    Matrix inputs;   // [c', C]
  };
  // `steps` are those of the higher-order orthogonal iteration; none increases the error. Fails as
  // eigen_basis() does. REQUIRES: 0 < outputs <= N, 0 < inputs <= C.
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

// The rank by empirical variational Bayesian matrix factorisation of a rows x columns matrix with
// these singular values, at least 1; a starting point. Planted ranks are found exactly up to a
// quarter of the rows at a signal three times the noise, up to half at a hundred times; larger ones
// come out too small. Without noise it is the number of nonzero values. May be 1 for a matrix whose
// elements have one sign, because the mean dominates.
//
// REQUIRES: the values are finite, not negative and descending; as many as the smaller of rows and
// columns, at least one.
size_t evbmf_rank(std::span<const double> singular_values, size_t rows, size_t columns);

}  // namespace shoal::compress
