#include "shoal/shrink/compress/factors/low_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "shoal/base/math/random_matrix_testing.h"

namespace shoal::compress {
namespace {

Matrix difference(Matrix a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.columns(), b.columns());
  for (size_t i = 0; i < a.elements().size(); ++i) a.elements()[i] -= b.elements()[i];
  return a;
}

// Inputs that take some directions more than others.
Whitening random_whitening(size_t features, std::mt19937& rng) {
  SecondMoment moment(features);
  Tensor x({DType::kF32, {static_cast<int64_t>(4 * features), static_cast<int64_t>(features)}});
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    x.data<float>()[i] = normal(rng) / static_cast<float>(1 + i % features);
  }
  moment.add(x, 1);
  auto whitening = moment.whitening();
  SHOAL_CHECK(whitening.ok());
  return *std::move(whitening);
}

double squares_from(const std::vector<double>& values, size_t first) {
  double sum = 0;
  for (size_t i = first; i < values.size(); ++i) sum += values[i] * values[i];
  return sum;
}

struct Case {
  Matrix weights;
  std::optional<Whitening> whitening;
};

std::vector<Case> cases(std::mt19937& rng) {
  std::vector<Case> all;
  for (const auto& [rows, columns] :
       {std::pair<size_t, size_t>{6, 15}, {15, 6}, {9, 9}, {1, 7}, {7, 1}}) {
    all.push_back({random_matrix(rows, columns, rng), std::nullopt});
    all.push_back({random_matrix(rows, columns, rng), random_whitening(columns, rng)});
  }
  all.push_back({Matrix(4, 8), std::nullopt});  // zeros
  return all;
}

LowRank low_rank_of(const Case& c) {
  auto result = LowRank::of(c.weights, c.whitening);
  SHOAL_CHECK(result.ok());
  return *std::move(result);
}

TEST(LowRank, IsTheMatrixAtFullRank) {
  std::mt19937 rng(1);
  for (const Case& c : cases(rng)) {
    const LowRank whole = low_rank_of(c);
    const auto [left, right] = whole.at(whole.singular_values().size());
    EXPECT_LT(squared_norm(difference(product(left, right), c.weights)),
              1e-18 * (1 + squared_norm(c.weights)));
  }
}

// The error on inputs of this second moment is what the singular values beyond the rank say, and no
// matrix of that rank has a smaller one.
TEST(LowRank, LosesTheEnergyOfTheValuesCutOff) {
  std::mt19937 rng(2);
  for (const Case& c : cases(rng)) {
    const LowRank matrix = low_rank_of(c);
    const auto& values = matrix.singular_values();
    for (size_t rank = 1; rank <= values.size(); ++rank) {
      const auto [left, right] = matrix.at(rank);
      EXPECT_EQ(left.columns(), rank);
      Matrix lost = difference(product(left, right), c.weights);
      if (c.whitening) lost = product(lost, c.whitening->root);
      EXPECT_NEAR(squared_norm(lost), squares_from(values, rank), 1e-9 * squares_from(values, 0));
    }
  }
}

TEST(LowRank, IsBetterForItsInputsThanWithoutThem) {
  std::mt19937 rng(3);
  const Matrix weights = random_matrix(12, 20, rng);
  const Whitening whitening = random_whitening(20, rng);
  const auto error = [&](const LowRank& matrix) {
    const auto [left, right] = matrix.at(4);
    return squared_norm(product(difference(product(left, right), weights), whitening.root));
  };
  EXPECT_LT(error(low_rank_of({weights, whitening})),
            0.8 * error(low_rank_of({weights, std::nullopt})));
}

TEST(LowRank, GivesBothFactorsTheSameLength) {
  std::mt19937 rng(4);
  for (const Case& c : cases(rng)) {
    const LowRank matrix = low_rank_of(c);
    if (matrix.singular_values()[0] == 0) continue;
    const auto [left, right] = matrix.at(matrix.singular_values().size());
    for (size_t k = 0; k < left.columns(); ++k) {
      double a = 0, b = 0;
      for (size_t i = 0; i < left.rows(); ++i) a += left(i, k) * left(i, k);
      for (size_t j = 0; j < right.columns(); ++j) b += right(k, j) * right(k, j);
      EXPECT_NEAR(a, b, 1e-9 * a);
      // The singular value, if there are no inputs to weigh it.
      if (!c.whitening) {
        EXPECT_NEAR(a, matrix.singular_values()[k], 1e-6 * a);
      }
    }
  }
}

TEST(Modes, AreSwappedAndSwappedBack) {
  std::mt19937 rng(5);
  const Matrix filters = random_matrix(4, 5 * 3, rng);
  const Matrix swapped = swapped_modes(filters, 3);
  EXPECT_EQ(swapped.rows(), 5u);
  EXPECT_EQ(swapped(2, 3 * 3 + 1), filters(3, 2 * 3 + 1));
  EXPECT_EQ(squared_norm(difference(swapped_modes(swapped, 3), filters)), 0);
}

struct Filters {
  size_t outputs, inputs, taps;
};
constexpr Filters kShapes[] = {{8, 6, 9}, {3, 10, 4}, {16, 2, 3}, {5, 5, 1}, {1, 4, 9}};

// outputs ∘ core ∘ inputs, as filters.
Matrix composed(const Tucker2::Factors& parts, size_t taps) {
  return times_inputs(product(parts.outputs, parts.core), transposed(parts.inputs), taps);
}

Tucker2::Factors parts_at(const Tucker2& tensor, size_t outputs, size_t inputs, int steps) {
  auto parts = tensor.at(outputs, inputs, steps);
  SHOAL_CHECK(parts.ok());
  return *std::move(parts);
}

TEST(Tucker2, IsTheFiltersAtFullRanks) {
  std::mt19937 rng(6);
  for (const auto& [outputs, inputs, taps] : kShapes) {
    const Matrix filters = random_matrix(outputs, inputs * taps, rng);
    for (const bool whitened : {false, true}) {
      std::optional<Whitening> whitening;
      if (whitened) whitening = random_whitening(inputs, rng);
      const auto tensor = Tucker2::of(filters, taps, whitening);
      ASSERT_TRUE(tensor.ok());
      const Matrix again = composed(parts_at(*tensor, outputs, inputs, 1), taps);
      EXPECT_LT(squared_norm(difference(again, filters)), 1e-16 * squared_norm(filters));
    }
  }
}

TEST(Tucker2, LosesLessWithHigherRanksAndNeverMoreThanItSays) {
  std::mt19937 rng(7);
  for (const auto& [outputs, inputs, taps] : kShapes) {
    const Matrix filters = random_matrix(outputs, inputs * taps, rng);
    const auto tensor = Tucker2::of(filters, taps, std::nullopt);
    ASSERT_TRUE(tensor.ok());
    const double all = squared_norm(filters);
    Matrix lost(outputs + 1, inputs + 1);
    for (size_t n = 1; n <= outputs; ++n) {
      for (size_t c = 1; c <= inputs; ++c) {
        lost(n, c) = squared_norm(difference(composed(parts_at(*tensor, n, c, 0), taps), filters));
        EXPECT_LE(lost(n, c), squares_from(tensor->output_values(), n) +
                                  squares_from(tensor->input_values(), c) + 1e-12 * all);
        if (n > 1) {
          EXPECT_LE(lost(n, c), lost(n - 1, c) + 1e-12 * all);
        }
        if (c > 1) {
          EXPECT_LE(lost(n, c), lost(n, c - 1) + 1e-12 * all);
        }
      }
    }
  }
}

TEST(Tucker2, LosesNoMoreWithFurtherSteps) {
  std::mt19937 rng(8);
  const Matrix filters = random_matrix(12, 10 * 9, rng);
  const auto tensor = Tucker2::of(filters, 9, std::nullopt);
  ASSERT_TRUE(tensor.ok());
  double before = INFINITY;
  for (int steps = 0; steps <= 4; ++steps) {
    const double lost =
        squared_norm(difference(composed(parts_at(*tensor, 4, 3, steps), 9), filters));
    EXPECT_LE(lost, before * (1 + 1e-12));
    if (steps == 1) {
      EXPECT_LT(lost, before);
    }
    before = lost;
  }
}

TEST(Tucker2, FindsPlantedRanks) {
  std::mt19937 rng(9);
  const Tucker2::Factors planted{random_matrix(12, 3, rng), random_matrix(3, 4 * 9, rng),
                                 random_matrix(4, 10, rng)};
  const Matrix filters = composed(planted, 9);
  const auto tensor = Tucker2::of(filters, 9, random_whitening(10, rng));
  ASSERT_TRUE(tensor.ok());
  const Matrix again = composed(parts_at(*tensor, 3, 4, 0), 9);
  EXPECT_LT(squared_norm(difference(again, filters)), 1e-14 * squared_norm(filters));
}

// The squares over all taps, weighed by the channels' second moment.
TEST(Tucker2, IsBetterForItsInputsThanWithoutThem) {
  std::mt19937 rng(10);
  const Matrix filters = random_matrix(12, 16 * 9, rng);
  const Whitening whitening = random_whitening(16, rng);
  const auto error = [&](const std::optional<Whitening>& by) {
    const auto tensor = Tucker2::of(filters, 9, by);
    SHOAL_CHECK(tensor.ok());
    const Matrix lost = difference(composed(parts_at(*tensor, 12, 4, 1), 9), filters);
    return squared_norm(times_inputs(lost, whitening.root, 9));
  };
  EXPECT_LT(error(whitening), 0.8 * error(std::nullopt));
}

}  // namespace
}  // namespace shoal::compress
