#include "shoal/base/math/matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "shoal/base/math/random_matrix_testing.h"

namespace shoal {
namespace {

double largest_difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.columns(), b.columns());
  double most = 0;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    most = std::max(most, std::abs(a.elements()[i] - b.elements()[i]));
  }
  return most;
}

TEST(Matrix, ProductIsTheSumOfProducts) {
  std::mt19937 rng(1);
  const Matrix a = random_matrix(5, 7, rng), b = random_matrix(7, 3, rng);
  const Matrix c = product(a, b);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (size_t k = 0; k < 7; ++k) sum += a(i, k) * b(k, j);
      EXPECT_NEAR(c(i, j), sum, 1e-12);
    }
  }
}

TEST(Matrix, GramsAreProductsWithTheTranspose) {
  std::mt19937 rng(2);
  for (const auto& [rows, columns] : {std::pair<size_t, size_t>{3, 8}, {8, 3}, {1, 1}, {4, 4}}) {
    const Matrix a = random_matrix(rows, columns, rng);
    EXPECT_LT(largest_difference(gram(a), product(a, transposed(a))), 1e-12);
  }
}

TEST(Matrix, GramsOfFloatsAddUp) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  Matrix columns(2, 2), rows(2, 2);
  columns(0, 0) = 100;
  add_gram_of_columns(columns, x);  // [[1,2,3],[4,5,6]]
  EXPECT_EQ(std::vector(columns.elements().begin(), columns.elements().end()),
            (std::vector<double>{114, 32, 32, 77}));
  add_gram_of_rows(rows, x);  // [[1,2],[3,4],[5,6]]
  add_gram_of_rows(rows, {});
  EXPECT_EQ(std::vector(rows.elements().begin(), rows.elements().end()),
            (std::vector<double>{35, 44, 44, 56}));
}

TEST(Matrix, ColumnsAreScaledAndCut) {
  const Matrix a = Matrix::of(2, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Matrix b = first_columns(scaled_columns(a, std::vector<double>{1, 10, 0}), 2);
  EXPECT_EQ(std::vector(b.elements().begin(), b.elements().end()),
            (std::vector<double>{1, 20, 4, 50}));
  EXPECT_EQ(squared_norm(b), 1 + 400 + 16 + 2500);
}

// V diag(values) Vᵀ is the matrix, V is orthonormal, and the values descend: also where a value has
// several vectors, or is zero.
TEST(EigenBasis, TakesSymmetricMatricesApart) {
  std::mt19937 rng(3);
  for (size_t size : {1u, 2u, 5u, 40u}) {
    for (size_t rank : {size_t{0}, size / 2, size}) {
      const Matrix whole = gram(random_matrix(size, rank, rng));
      const auto basis = eigen_basis(whole);
      ASSERT_TRUE(basis.ok());
      const Matrix& v = basis->vectors;
      EXPECT_TRUE(std::ranges::is_sorted(basis->values, std::greater<>()));
      EXPECT_LT(largest_difference(product(v, transposed(v)), Matrix::identity(size)), 1e-12);
      EXPECT_LT(largest_difference(product(scaled_columns(v, basis->values), transposed(v)), whole),
                1e-11);
    }
  }
}

TEST(EigenBasis, RefusesWhatIsNotFinite) {
  for (double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Matrix matrix = Matrix::identity(3);
    matrix(2, 0) = bad;
    EXPECT_EQ(eigen_basis(matrix).status().code(), Code::kInvalidArgument);
  }
}

TEST(EigenBasis, OfNothingIsNothing) {
  const auto basis = eigen_basis(Matrix());
  ASSERT_TRUE(basis.ok());
  EXPECT_TRUE(basis->values.empty());
}

TEST(Matrix, EquationsAreSolvedIfTheyArePositiveDefinite) {
  std::mt19937 rng(6);
  const Matrix square = gram(random_matrix(5, 9, rng)), x = random_matrix(5, 3, rng);
  const auto found = solved(square, product(square, x));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_LT(largest_difference(*found, x), 1e-10);
  Matrix negative = square;
  negative(2, 2) = -1;
  EXPECT_EQ(solved(negative, x).status().code(), Code::kInvalidArgument);
  negative(2, 2) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(solved(negative, x).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal
