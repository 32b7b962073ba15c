#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "shoal/base/math/matrix.h"
#include "shoal/base/math/random_matrix_testing.h"
#include "shoal/shrink/compress/factors/low_rank.h"

namespace shoal::compress {
namespace {

size_t rank_of(const Matrix& matrix) {
  const bool wide = matrix.rows() <= matrix.columns();
  const auto basis = eigen_basis(gram(wide ? matrix : transposed(matrix)));
  SHOAL_CHECK(basis.ok());
  std::vector<double> values;
  for (double square : basis->values) values.push_back(std::sqrt(std::max(square, 0.0)));
  return evbmf_rank(values, matrix.rows(), matrix.columns());
}

// A product of Gaussian factors and Gaussian noise, whose elements have 1/snr of the deviation of
// the product's.
Matrix planted(size_t rows, size_t columns, size_t rank, double snr, std::mt19937& rng) {
  Matrix sum = product(random_matrix(rows, rank, rng), random_matrix(rank, columns, rng));
  const double deviation = std::sqrt(static_cast<double>(rank)) / snr;
  const Matrix noise = random_matrix(rows, columns, rng);
  for (size_t i = 0; i < sum.elements().size(); ++i)
    sum.elements()[i] += deviation * noise.elements()[i];
  return sum;
}

TEST(Evbmf, FindsPlantedRanks) {
  std::mt19937 rng(1);
  for (size_t rows : {16u, 32u, 48u, 64u}) {
    const size_t columns = rows * 9 / 2;
    for (size_t rank : {size_t{1}, rows / 8, rows / 4}) {
      EXPECT_EQ(rank_of(planted(rows, columns, rank, 3, rng)), rank) << rows;
    }
    for (size_t rank : {rows / 4, rows / 2}) {
      EXPECT_EQ(rank_of(planted(rows, columns, rank, 100, rng)), rank) << rows;
    }
  }
}

TEST(Evbmf, DoesNotMindWhichSideIsLonger) {
  std::mt19937 rng(2);
  const Matrix matrix = planted(40, 100, 7, 5, rng);
  EXPECT_EQ(rank_of(matrix), 7u);
  EXPECT_EQ(rank_of(transposed(matrix)), 7u);
}

TEST(Evbmf, FindsTheRankWithoutNoise) {
  std::mt19937 rng(3);
  EXPECT_EQ(rank_of(planted(20, 50, 6, INFINITY, rng)), 6u);
}

// A scale is no part of a rank.
TEST(Evbmf, DoesNotMindTheScale) {
  std::mt19937 rng(4);
  Matrix matrix = planted(24, 108, 5, 4, rng);
  for (double scale : {1e-30, 1e30}) {
    Matrix scaled = matrix;
    for (double& x : scaled.elements()) x *= scale;
    EXPECT_EQ(rank_of(scaled), 5u);
  }
}

TEST(Evbmf, GivesOneAtLeast) {
  std::mt19937 rng(5);
  Matrix constant(8, 30), unsigned_noise = random_matrix(8, 30, rng);
  for (double& x : constant.elements()) x = 3;
  for (double& x : unsigned_noise.elements()) x = std::abs(x);
  EXPECT_EQ(rank_of(constant), 1u);
  EXPECT_EQ(rank_of(Matrix(8, 30)), 1u);              // zeros
  EXPECT_EQ(rank_of(random_matrix(8, 30, rng)), 1u);  // noise
  EXPECT_EQ(rank_of(unsigned_noise), 1u);             // its mean
  EXPECT_EQ(rank_of(random_matrix(1, 1, rng)), 1u);
  EXPECT_EQ(rank_of(random_matrix(1, 50, rng)), 1u);
  // All directions alike: no noise to stand out of.
  EXPECT_GE(rank_of(Matrix::identity(9)), 1u);
}

}  // namespace
}  // namespace shoal::compress
