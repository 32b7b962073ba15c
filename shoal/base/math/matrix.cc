// Eigen rather than code of our own: a Jacobi iteration would be as short, but sweeps over the
// matrix several times, and the largest layers have thousands of rows.
#include "shoal/base/math/matrix.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>

namespace shoal {
namespace {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Dense<double>> view(const Matrix& a) {
  return {a.elements().data(), static_cast<Eigen::Index>(a.rows()),
          static_cast<Eigen::Index>(a.columns())};
}

Eigen::Map<Dense<double>> view(Matrix& a) {
  return {a.elements().data(), static_cast<Eigen::Index>(a.rows()),
          static_cast<Eigen::Index>(a.columns())};
}

// Half of the products: the other half is their mirror image.
template <class X>
void add_gram(Matrix& sum, const X& x) {
  auto to = view(sum);
  to.selfadjointView<Eigen::Lower>().rankUpdate(x);
  to.triangularView<Eigen::StrictlyUpper>() = to.transpose();
}

}  // namespace

Matrix Matrix::of(size_t rows, std::span<const float> elements) {
  Matrix matrix(rows, rows == 0 ? 0 : elements.size() / rows);
  SHOAL_CHECK(matrix.elements_.size() == elements.size());
  std::ranges::copy(elements, matrix.elements_.begin());
  return matrix;
}

Matrix Matrix::identity(size_t size) {
  Matrix matrix(size, size);
  for (size_t i = 0; i < size; ++i) matrix(i, i) = 1;
  return matrix;
}

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns(), a.rows());
  view(result) = view(a).transpose();
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  SHOAL_CHECK(a.columns() == b.rows());
  Matrix result(a.rows(), b.columns());
  view(result).noalias() = view(a) * view(b);
  return result;
}

Matrix gram(const Matrix& a) {
  Matrix result(a.rows(), a.rows());
  add_gram(result, view(a));
  return result;
}

Matrix scaled_columns(Matrix a, std::span<const double> factors) {
  SHOAL_CHECK(factors.size() == a.columns());
  for (size_t i = 0; i < a.rows(); ++i) {
    for (size_t j = 0; j < a.columns(); ++j) a(i, j) *= factors[j];
  }
  return a;
}

Matrix first_columns(const Matrix& a, size_t count) {
  SHOAL_CHECK(count <= a.columns());
  Matrix result(a.rows(), count);
  view(result) = view(a).leftCols(static_cast<Eigen::Index>(count));
  return result;
}

double squared_norm(const Matrix& a) { return view(a).squaredNorm(); }

void add_gram_of_columns(Matrix& sum, std::span<const float> x) {
  const Matrix wide = Matrix::of(sum.rows(), x);
  add_gram(sum, view(wide));
}

void add_gram_of_rows(Matrix& sum, std::span<const float> x) {
  if (sum.rows() == 0) return;
  const Matrix tall = Matrix::of(x.size() / sum.rows(), x);
  SHOAL_CHECK(x.empty() || tall.columns() == sum.rows());
  add_gram(sum, view(tall).transpose());
}

Result<EigenBasis> eigen_basis(const Matrix& symmetric) {
  SHOAL_CHECK(symmetric.rows() == symmetric.columns());
  if (!view(symmetric).allFinite()) return invalid("a matrix has elements that are not finite");
  EigenBasis basis{{}, Matrix(symmetric.rows(), symmetric.columns())};
  if (symmetric.rows() == 0) return basis;
  const Eigen::SelfAdjointEigenSolver<Dense<double>> solver(view(symmetric));
  if (solver.info() != Eigen::Success) {
    return Status(Code::kInternal, "the eigenvalues of a matrix did not converge");
  }
  const auto& ascending = solver.eigenvalues();
  basis.values.assign(ascending.data(), ascending.data() + ascending.size());
  std::ranges::reverse(basis.values);
  view(basis.vectors) = solver.eigenvectors().rowwise().reverse();
  return basis;
}

Result<Matrix> solved(const Matrix& a, const Matrix& b) {
  SHOAL_CHECK(a.rows() == a.columns() && a.rows() == b.rows());
  Matrix x(b.rows(), b.columns());
  if (x.elements().empty()) return x;
  if (!view(a).allFinite() || !view(b).allFinite()) {
    return invalid("a matrix has elements that are not finite");
  }
  const Eigen::LLT<Dense<double>> factor(view(a));
  view(x) = factor.solve(view(b));
  if (factor.info() != Eigen::Success) return invalid("a matrix is not positive definite");
  return x;
}

}  // namespace shoal
