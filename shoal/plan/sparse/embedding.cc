#include "shoal/plan/sparse/embedding.h"

#include <cmath>

namespace shoal::plan {
namespace {

constexpr int kIterations = 30;

using Scales = std::vector<double>;

struct Degrees {
  Scales row_scales;  // D1^-1/2
  Scales column_scales;
};

Degrees degrees_of(const SparsePattern& pattern) {
  Degrees degrees{.row_scales = Scales(pattern.rows.size()),
                  .column_scales = Scales(pattern.columns.size(), 0)};
  for (uint32_t c : pattern.targets) ++degrees.column_scales[c];
  for (size_t r = 0; r < pattern.rows.size(); ++r) {
    degrees.row_scales[r] = static_cast<double>(pattern.row(r).size());
  }
  for (Scales* scales : {&degrees.row_scales, &degrees.column_scales}) {
    for (double& scale : *scales) scale = 1 / std::sqrt(scale);
  }
  return degrees;
}

// diag(scales) a
Matrix scaled_rows(Matrix a, const Scales& scales) {
  for (size_t i = 0; i < a.rows(); ++i) {
    for (size_t j = 0; j < a.columns(); ++j) a(i, j) *= scales[i];
  }
  return a;
}

void add_row(Matrix& sum, size_t to, const Matrix& a, size_t from) {
  const auto source = a.elements().subspan(from * a.columns(), a.columns());
  const auto target = sum.elements().subspan(to * a.columns(), a.columns());
  for (size_t j = 0; j < source.size(); ++j) target[j] += source[j];
}

// An x
Matrix forward(const SparsePattern& pattern, const Degrees& degrees, const Matrix& x) {
  const Matrix scaled = scaled_rows(x, degrees.column_scales);
  Matrix sum(pattern.rows.size(), x.columns());
  for (size_t r = 0; r < sum.rows(); ++r) {
    for (uint32_t c : pattern.row(r)) add_row(sum, r, scaled, c);
  }
  return scaled_rows(std::move(sum), degrees.row_scales);
}

// Anᵀ x
Matrix backward(const SparsePattern& pattern, const Degrees& degrees, const Matrix& x) {
  const Matrix scaled = scaled_rows(x, degrees.row_scales);
  Matrix sum(pattern.columns.size(), x.columns());
  for (size_t r = 0; r < x.rows(); ++r) {
    for (uint32_t c : pattern.row(r)) add_row(sum, c, scaled, r);
  }
  return scaled_rows(std::move(sum), degrees.column_scales);
}

// Removes the trivial singular vector, D2^1/2 1 in proportion, from every column of x.
void remove_trivial(Matrix& x, const Scales& column_scales) {
  double square = 0;
  for (double scale : column_scales) square += 1 / (scale * scale);
  for (size_t j = 0; j < x.columns(); ++j) {
    double along = 0;
    for (size_t i = 0; i < x.rows(); ++i) along += x(i, j) / column_scales[i];
    for (size_t i = 0; i < x.rows(); ++i) x(i, j) -= along / square / column_scales[i];
  }
}

// An orthonormal basis of the columns, longest direction first; zero where there is none left.
Result<Matrix> orthonormal(const Matrix& x) {
  SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(gram(transposed(x))));
  Scales factors(x.columns(), 0);
  for (size_t j = 0; j < x.columns(); ++j) {
    const double square = basis.values[j];
    if (square > 1e-12 * basis.values[0] && square > 1e-24) factors[j] = 1 / std::sqrt(square);
  }
  return scaled_columns(product(x, basis.vectors), factors);
}

}  // namespace

Result<Matrix> row_embedding(const SparsePattern& pattern, size_t dimensions, RandomStream random) {
  const Degrees degrees = degrees_of(pattern);
  Matrix x(pattern.columns.size(), dimensions);
  for (size_t i = 0; i < x.elements().size(); ++i) {
    x.elements()[i] = static_cast<double>(random[i] >> 11) * 0x1p-53 - 0.5;
  }
  for (int i = 0; i < kIterations; ++i) {
    remove_trivial(x, degrees.column_scales);
    SHOAL_ASSIGN(const Matrix basis, orthonormal(x));
    x = backward(pattern, degrees, forward(pattern, degrees, basis));
  }
  remove_trivial(x, degrees.column_scales);
  SHOAL_ASSIGN(const Matrix basis, orthonormal(x));
  return scaled_rows(forward(pattern, degrees, basis), degrees.row_scales);
}

}  // namespace shoal::plan
