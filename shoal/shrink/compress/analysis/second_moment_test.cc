#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shoal/shrink/compress/factors/low_rank.h"

namespace shoal::compress {
namespace {

double largest(const Matrix& a) {
  double most = 0;
  for (double x : a.elements()) most = std::max(most, std::abs(x));
  return most;
}

Matrix minus(Matrix a, const Matrix& b) {
  for (size_t i = 0; i < a.elements().size(); ++i) a.elements()[i] -= b.elements()[i];
  return a;
}

Whitening whitening_of(const Tensor& x, size_t axis) {
  SecondMoment moment(static_cast<size_t>(x.shape()[axis]));
  moment.add(x, axis);
  auto whitening = moment.whitening();
  SHOAL_CHECK(whitening.ok());
  return *std::move(whitening);
}

// Inputs (3, 0) and (0, 1), and two more in all directions of a mean square of 10 / 4.
TEST(SecondMoment, IsThatOfTheInputsAndOfAsManyAsThereAreFeatures) {
  const Whitening w = whitening_of(Tensor::of<float>({2, 2}, {3, 0, 0, 1}), 1);
  Matrix wanted(2, 2);
  wanted(0, 0) = (9 + 5) / 4.0;
  wanted(1, 1) = (1 + 5) / 4.0;
  EXPECT_LT(largest(minus(product(w.root, w.root), wanted)), 1e-12);
  EXPECT_LT(largest(minus(product(w.root, w.inverse), Matrix::identity(2))), 1e-12);
}

TEST(SecondMoment, IsTheSameHoweverTheFeaturesLie) {
  const Tensor rows = Tensor::of<float>({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10, 0, -1, 2});
  // [n, c, position]: the same four inputs, two in each image.
  const Tensor images = Tensor::of<float>({2, 3, 2}, {1, 4, 2, 5, 3, 6, 7, 0, 8, -1, 10, 2});
  EXPECT_LT(largest(minus(whitening_of(rows, 1).root, whitening_of(images, 1).root)), 1e-12);
}

TEST(SecondMoment, OfNothingChangesNothing) {
  for (const Tensor& x : {Tensor({DType::kF32, {0, 2}}), Tensor({DType::kF32, {5, 2}})}) {
    const Whitening w = whitening_of(x, 1);
    EXPECT_EQ(largest(minus(w.root, Matrix::identity(2))), 0);
    EXPECT_EQ(largest(minus(w.inverse, Matrix::identity(2))), 0);
  }
}

TEST(SecondMoment, RefusesInputsThatAreNotFinite) {
  SecondMoment moment(2);
  moment.add(Tensor::of<float>({1, 2}, {1, INFINITY}), 1);
  EXPECT_EQ(moment.whitening().status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::compress
