// Singular values and vectors come from the eigenvectors of the smaller Gram matrix: with
// A = W C^½ = U S Vᵀ, A Aᵀ = U S² Uᵀ and Aᵀ A = V S² Vᵀ. Squaring costs half of the digits of the
// smallest singular values, which are the first to be cut off. What remains is exact all the same,
// because it is a projection by orthonormal vectors:
//
//   m <= n:  W ~ U_k (U_kᵀ W)                       C^½ C^-½ cancel
//   m > n:   W ~ (W C^½ V_k) (V_kᵀ C^-½)
//
// Tucker-2 begins with the truncated singular vectors of both unfoldings (HOSVD). A step of HOOI
// projects one mode by its present basis and computes the other's anew from what is left.
#include "shoal/shrink/compress/factors/low_rank.h"

#include <algorithm>
#include <cmath>

namespace shoal::compress {
namespace {

// Rounding may leave squares a little below zero.
std::vector<double> roots_of(const std::vector<double>& squares) {
  std::vector<double> roots;
  for (double square : squares) roots.push_back(std::sqrt(std::max(square, 0.0)));
  return roots;
}

// Makes column i of `left` as long as row i of `right`, and keeps their product.
void balance(Matrix& left, Matrix& right) {
  std::vector<double> left_squares(left.columns()), right_squares(left.columns());
  for (size_t i = 0; i < left.rows(); ++i) {
    for (size_t k = 0; k < left.columns(); ++k) left_squares[k] += left(i, k) * left(i, k);
  }
  for (size_t k = 0; k < right.rows(); ++k) {
    for (size_t j = 0; j < right.columns(); ++j) right_squares[k] += right(k, j) * right(k, j);
  }
  for (size_t k = 0; k < right.rows(); ++k) {
    if (left_squares[k] == 0 || right_squares[k] == 0) continue;
    const double factor = std::pow(right_squares[k] / left_squares[k], 0.25);
    for (size_t i = 0; i < left.rows(); ++i) left(i, k) *= factor;
    for (size_t j = 0; j < right.columns(); ++j) right(k, j) /= factor;
  }
}

// The `rank` leading left singular vectors.
Result<Matrix> leading_vectors(const Matrix& matrix, size_t rank) {
  SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(gram(matrix)));
  return first_columns(basis.vectors, rank);
}

}  // namespace

Result<LowRank> LowRank::of(Matrix weights, std::optional<Whitening> whitening) {
  LowRank result;
  const Matrix whitened = whitening ? product(weights, whitening->root) : weights;
  const bool is_wide = weights.rows() <= weights.columns();
  SHOAL_ASSIGN(EigenBasis basis, eigen_basis(gram(is_wide ? whitened : transposed(whitened))));
  result.values_ = roots_of(basis.values);
  result.basis_ = std::move(basis.vectors);
  result.weights_ = std::move(weights);
  result.whitening_ = std::move(whitening);
  return result;
}

LowRank::Factors LowRank::at(size_t rank) const {
  const Matrix leading = first_columns(basis_, rank);
  Factors factors;
  if (weights_.rows() <= weights_.columns()) {
    factors = {leading, product(transposed(leading), weights_)};
  } else if (whitening_) {
    factors = {product(weights_, product(whitening_->root, leading)),
               product(transposed(leading), whitening_->inverse)};
  } else {
    factors = {product(weights_, leading), transposed(leading)};
  }
  balance(factors.left, factors.right);
  return factors;
}

Matrix swapped_modes(const Matrix& filters, size_t taps) {
  const size_t first = filters.rows(), second = filters.columns() / taps;
  Matrix result(second, first * taps);
  for (size_t a = 0; a < first; ++a) {
    for (size_t b = 0; b < second; ++b) {
      for (size_t k = 0; k < taps; ++k) result(b, a * taps + k) = filters(a, b * taps + k);
    }
  }
  return result;
}

Matrix times_inputs(const Matrix& filters, const Matrix& factor, size_t taps) {
  return swapped_modes(product(factor, swapped_modes(filters, taps)), taps);
}

Result<Tucker2> Tucker2::of(Matrix filters, size_t taps,
                            const std::optional<Whitening>& whitening) {
  SHOAL_CHECK(taps > 0 && filters.columns() % taps == 0);
  Tucker2 result;
  result.taps_ = taps;
  result.filters_ = whitening ? times_inputs(filters, whitening->root, taps) : std::move(filters);
  if (whitening) result.inverse_ = whitening->inverse;
  SHOAL_ASSIGN(EigenBasis outputs, eigen_basis(gram(result.filters_)));
  SHOAL_ASSIGN(EigenBasis inputs, eigen_basis(gram(swapped_modes(result.filters_, taps))));
  result.output_values_ = roots_of(outputs.values);
  result.input_values_ = roots_of(inputs.values);
  result.outputs_ = std::move(outputs.vectors);
  result.inputs_ = std::move(inputs.vectors);
  return result;
}

Result<Tucker2::Factors> Tucker2::at(size_t outputs, size_t inputs, int steps) const {
  Matrix u = first_columns(outputs_, outputs), v = first_columns(inputs_, inputs);
  // With one side whole, the other's singular vectors are the best there are.
  const bool is_final = outputs == outputs_.rows() || inputs == inputs_.rows();
  for (int i = 0; i < steps && !is_final; ++i) {
    SHOAL_ASSIGN(u, leading_vectors(times_inputs(filters_, transposed(v), taps_), outputs));
    const Matrix projected = product(transposed(u), filters_);
    SHOAL_ASSIGN(v, leading_vectors(swapped_modes(projected, taps_), inputs));
  }
  const Matrix down = transposed(v);
  Matrix core = times_inputs(product(transposed(u), filters_), down, taps_);
  return Factors{std::move(u), std::move(core), inverse_ ? product(down, *inverse_) : down};
}

}  // namespace shoal::compress
