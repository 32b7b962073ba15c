#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "shoal/train/step/optimizer/regularizer.h"

namespace shoal::train {
namespace {

using Penalty = Regularizer::Penalty;
using Unit = UnitPenalty::Unit;

// Two layers: the channels of the first are a group with their biases and what reads them, those of
// the second are another one. So elements of b are in two units.
UnitPenalty two_layers(Penalty penalty) {
  UnitPenalty result{.penalty = penalty, .strength = 0.3};
  std::vector<Unit>& first = result.groups.emplace_back();
  for (int64_t i = 0; i < 4; ++i) first.push_back({{"a", 0, i}, {"bias", 0, i}, {"b", 1, i}});
  std::vector<Unit>& second = result.groups.emplace_back();
  for (int64_t i = 0; i < 3; ++i) second.push_back({{"b", 0, i}, {"frozen", 0, i}});
  return result;
}

struct Weights {
  std::vector<std::string> names = {"a", "b", "bias"};
  std::vector<Tensor> weights, gradients;

  explicit Weights(std::mt19937& rng) {
    std::normal_distribution<double> normal;
    for (const Shape& shape : {Shape{4, 2, 3, 3}, Shape{3, 4, 1, 2}, Shape{4}}) {
      Tensor& weight = weights.emplace_back(TensorType{DType::kF64, shape});
      gradients.emplace_back(weight.type());
      for (double& x : weight.data<double>()) x = normal(rng);
    }
  }
};

TEST(UnitPenalty, GradientsAgreeWithFiniteDifferences) {
  constexpr double kStep = 1e-5, kTolerance = 1e-6;
  std::mt19937 rng(1);
  for (Penalty penalty : {Penalty::kLasso, Penalty::kSquare, Penalty::kHoyer}) {
    const UnitPenalty units = two_layers(penalty);
    Weights all(rng), ignored(rng);
    regularize(units, all.names, all.weights, all.gradients);
    for (size_t i = 0; i < all.weights.size(); ++i) {
      for (size_t k = 0; k < all.weights[i].data<double>().size(); ++k) {
        const auto penalty_at = [&](double w) {
          std::swap(all.weights[i].data<double>()[k], w);
          const double value = regularize(units, all.names, all.weights, ignored.gradients);
          std::swap(all.weights[i].data<double>()[k], w);
          return value;
        };
        const double at = all.weights[i].data<double>()[k];
        const double want = (penalty_at(at + kStep) - penalty_at(at - kStep)) / (2 * kStep);
        EXPECT_NEAR(all.gradients[i].data<double>()[k], want,
                    kTolerance * std::max(1.0, std::abs(want)))
            << all.names[i] << " " << k;
      }
    }
  }
}

// A slice of 3 and one of 4 have the norm 5; the lasso counts two elements.
TEST(UnitPenalty, IsTheNormOfAllSlicesOfAUnit) {
  const std::vector<std::string> names = {"a", "b"};
  const std::vector<Tensor> weights = {Tensor::of<float>({2}, {3, 0}),
                                       Tensor::of<float>({1, 2}, {4, 0})};
  UnitPenalty penalty{.strength = 2};
  penalty.groups = {{{{"a", 0, 0}, {"b", 1, 0}}, {{"a", 0, 1}, {"b", 1, 1}}}};
  const auto value = [&] {
    std::vector<Tensor> ignored = {Tensor(weights[0].type()), Tensor(weights[1].type())};
    return regularize(penalty, names, weights, ignored);
  };
  EXPECT_NEAR(value(), 2 * std::sqrt(2) * 5, 1e-6);
  penalty.penalty = Penalty::kHoyer;
  EXPECT_NEAR(value(), 2, 1e-6);  // one unit is left
}

}  // namespace
}  // namespace shoal::train
