// Matrix: linear algebra in double precision, for set-up code. Not for kernels: a Matrix is on the
// heap, and every function returns a new one.
//
//   const Matrix square = gram(a);                                // a aᵀ
//   SHOAL_ASSIGN(const EigenBasis basis, eigen_basis(square));    // square = V diag(values) Vᵀ
//   const Matrix projected = product(transposed(basis.vectors), a);
//
// Eigen computes behind it. Only matrix.cc includes that, because its headers take seconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

// Row-major. A value.
class Matrix {
 public:
  Matrix() = default;  // no rows, no columns
  // Elements are zero. REQUIRES: rows * columns doubles can be counted.
  Matrix(size_t rows, size_t columns) : rows_(rows), columns_(columns), elements_(rows * columns) {}
  // Copies the elements. REQUIRES: rows divides their number.
  static Matrix of(size_t rows, std::span<const float> elements);
  static Matrix identity(size_t size);

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_; }
  // REQUIRES: row < rows(), column < columns().
  double operator()(size_t row, size_t column) const { return elements_[row * columns_ + column]; }
  double& operator()(size_t row, size_t column) { return elements_[row * columns_ + column]; }
  // All elements, row by row; valid until the matrix is assigned or destroyed.
  std::span<const double> elements() const { return elements_; }
  std::span<double> elements() { return elements_; }

 private:
  size_t rows_ = 0;
  size_t columns_ = 0;
  std::vector<double> elements_;
};

Matrix transposed(const Matrix& a);
// a b. REQUIRES: a.columns() == b.rows().
Matrix product(const Matrix& a, const Matrix& b);
// a aᵀ, symmetric to the last bit.
Matrix gram(const Matrix& a);
// a diag(factors). REQUIRES: as many factors as columns.
Matrix scaled_columns(Matrix a, std::span<const double> factors);
// The columns [0, count). REQUIRES: count <= a.columns().
Matrix first_columns(const Matrix& a, size_t count);
// The sum of the squares of all elements.
double squared_norm(const Matrix& a);

// sum = sum + x xᵀ, where x has as many rows as `sum`; or, of the rows of x, sum + xᵀ x. REQUIRES:
// `sum` is square, and its size divides the number of elements of x.
void add_gram_of_columns(Matrix& sum, std::span<const float> x);
void add_gram_of_rows(Matrix& sum, std::span<const float> x);

// The eigenvalues of a symmetric matrix in descending order; column i of `vectors` is the one of
// value i. The vectors are orthonormal, whatever the values are.
struct EigenBasis {
  std::vector<double> values;
  Matrix vectors;
};

// Takes time in proportion to the cube of the size. Only the lower half of the matrix is read.
// Fails with kInvalidArgument if an element is not finite, and with kInternal if the
// iteration does not converge. REQUIRES: it is square.
Result<EigenBasis> eigen_basis(const Matrix& symmetric);

// The x of a x = b, by Cholesky. Only the lower half of a is read. Fails with kInvalidArgument
// where a, which is symmetric, is not positive definite, or an element is not finite. REQUIRES: a
// is square, and b has as many rows.
Result<Matrix> solved(const Matrix& a, const Matrix& b);

}  // namespace shoal
