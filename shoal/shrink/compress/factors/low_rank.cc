// Singular values and vectors come from the eigenvectors of the smaller Gram matrix: with A = W C^½
// = U S Vᵀ, A Aᵀ = U S² Uᵀ and Aᵀ A = V S² Vᵀ. Squaring costs half of the digits of the smallest
// singular values, which are cut off first. The rest is exact, as a projection by orthonormal
// vectors:
//
//   m <= n:  W ~ U_k (U_kᵀ W)                       C^½ C^-½ cancel
//   m > n:   W ~ (W C^½ V_k) (V_kᵀ C^-½)
//
// Tucker-2 begins with the truncated singular vectors of both unfoldings (HOSVD). A step of HOOI
// projects one mode by its present basis and computes the other's anew from what is left.
#include "shoal/shrink/compress/factors/low_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shoal/base/status.h"

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

Result<Matrix> leading_vectors(const Matrix& matrix, size_t rank) {
  SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(gram(matrix)));
  return first_columns(basis.vectors, rank);
}

// Empirical variational Bayesian matrix factorisation has an analytic solution once the variance of
// the noise is known. For an L x M matrix, L <= M, with singular values s_1 >= ... >= s_L:
//
//   a = L / M,  t = 2.5129 sqrt(a),  x = (1 + t)(1 + a / t)        x: least x_h of a signal
//   x_h = s_h² / (M v)                                              v: variance of the noise
//   rank = number of h with x_h > x
//
// v is not known, and is the minimum of
//
//   sum over x_h > x of   x_h - tau(x_h) + ln((tau(x_h) + 1) / x_h) + a ln(tau(x_h) / a + 1)
//   sum over x_h <= x of  x_h - ln x_h                              x_h = 0: ln v
//   tau(y) = (y - (1 + a) + sqrt((y - (1 + a))² - 4a)) / 2
//
// between max(s_e² / (M x), mean of s_h² over h >= e, / M) and the mean of all s_h² / M, where
// e = ceil(L / (1 + a)): values from there on are noise. Of a value
// that is zero, -ln x_h would be infinite; only what depends on v is kept of it.

// Squares below this share of the largest are rounding errors.
constexpr double kZero = 1e-12;

struct Spectrum {
  std::vector<double> squares;  // of the singular values; zero where they are rounding errors
  double smaller = 0;           // L
  double larger = 0;            // M

  double ratio() const { return smaller / larger; }
  double threshold() const {
    const double t = 2.5129 * std::sqrt(ratio());
    return (1 + t) * (1 + ratio() / t);
  }
};

double free_energy(const Spectrum& spectrum, double variance) {
  const double a = spectrum.ratio(), threshold = spectrum.threshold();
  double sum = 0;
  for (const double square : spectrum.squares) {
    const double x = square / (spectrum.larger * variance);
    if (x == 0) {
      sum += std::log(variance);
    } else if (x <= threshold) {
      sum += x - std::log(x);
    } else {
      const double b = x - (1 + a);
      const double tau = (b + std::sqrt(std::max(b * b - 4 * a, 0.0))) / 2;
      sum += x - tau + std::log((tau + 1) / x) + a * std::log(tau / a + 1);
    }
  }
  return sum;
}

// The function may have several minima, so that all of the range is looked at before the best part
// of it is narrowed down. On a scale of logarithms: the range may span decades.
double best_variance(const Spectrum& spectrum, double low, double high) {
  constexpr int kSteps = 256, kNarrowings = 40;
  constexpr double kGolden = 0.6180339887498949;
  const double step = std::log(high / low) / kSteps;
  const auto energy = [&](double log) { return free_energy(spectrum, low * std::exp(log)); };
  int best = 0;
  double least = energy(0);
  for (int i = 1; i <= kSteps; ++i) {
    if (const double here = energy(i * step); here < least) least = here, best = i;
  }
  double left = std::max(best - 1, 0) * step, right = std::min(best + 1, kSteps) * step;
  for (int i = 0; i < kNarrowings; ++i) {
    const double a = right - kGolden * (right - left), b = left + kGolden * (right - left);
    if (energy(a) < energy(b)) {
      right = b;
    } else {
      left = a;
    }
  }
  return low * std::exp((left + right) / 2);
}

}  // namespace

void SecondMoment::add(const Tensor& x, size_t axis) {
  const Shape& shape = x.shape();
  SHOAL_CHECK(axis < shape.rank() && static_cast<size_t>(shape[axis]) == sum_.rows());
  const auto inner = static_cast<size_t>(shape.count(axis + 1, shape.rank()));
  const std::span<const float> elements = x.data<float>();
  if (elements.empty()) return;
  count_ += static_cast<double>(elements.size() / sum_.rows());
  if (inner == 1) return add_gram_of_rows(sum_, elements);
  const size_t block = sum_.rows() * inner;  // [features, inner]
  for (size_t first = 0; first < elements.size(); first += block) {
    add_gram_of_columns(sum_, elements.subspan(first, block));
  }
}

Result<Whitening> SecondMoment::whitening() const {
  const size_t n = sum_.rows();
  double trace = 0;
  for (size_t i = 0; i < n; ++i) trace += sum_(i, i);
  // Inputs that are all zero say nothing.
  if (trace == 0) return Whitening{Matrix::identity(n), Matrix::identity(n)};
  Matrix moment = sum_;
  for (size_t i = 0; i < n; ++i) moment(i, i) += trace / count_;
  for (double& x : moment.elements()) x /= count_ + static_cast<double>(n);
  SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(moment));
  std::vector<double> roots, inverses;
  for (double value : basis.values) {
    roots.push_back(std::sqrt(value));
    inverses.push_back(1 / std::sqrt(value));
  }
  const Matrix back = transposed(basis.vectors);
  return Whitening{product(scaled_columns(basis.vectors, roots), back),
                   product(scaled_columns(basis.vectors, inverses), back)};
}

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

size_t evbmf_rank(std::span<const double> singular_values, size_t rows, size_t columns) {
  SHOAL_CHECK(!singular_values.empty() && singular_values.size() == std::min(rows, columns));
  Spectrum spectrum{{},
                    static_cast<double>(std::min(rows, columns)),
                    static_cast<double>(std::max(rows, columns))};
  const double largest = singular_values[0] * singular_values[0];
  for (double s : singular_values) spectrum.squares.push_back(s * s > kZero * largest ? s * s : 0);
  const auto& squares = spectrum.squares;
  const auto nonzero =
      static_cast<size_t>(std::ranges::count_if(squares, [](double square) { return square > 0; }));

  const auto noise = static_cast<size_t>(std::ceil(spectrum.smaller / (1 + spectrum.ratio()))) - 1;
  const auto mean = [&](size_t from) {
    const auto first = squares.begin() + static_cast<std::ptrdiff_t>(from);
    return std::accumulate(first, squares.end(), 0.0) / static_cast<double>(squares.end() - first);
  };
  const double low = std::max(squares[noise] / spectrum.threshold(), mean(noise)) / spectrum.larger;
  const double high = mean(0) / spectrum.larger;
  if (low <= 0) return std::max<size_t>(nonzero, 1);
  const double variance = low < high ? best_variance(spectrum, low, high) : high;
  const double least = spectrum.larger * variance * spectrum.threshold();
  return std::max<size_t>(
      static_cast<size_t>(std::ranges::count_if(squares, [&](double s) { return s > least; })), 1);
}

}  // namespace shoal::compress
