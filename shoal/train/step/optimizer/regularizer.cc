// Penalties P of the norms n_k of groups of weights, with their gradients:
//
//   lasso   sum n                  dP/dw = w / n_k
//   square  sum n^2                dP/dw = 2 w
//   Hoyer   (sum n)^2 / sum n^2    dP/dw = 2 S / Q^2 * (Q / n_k - S) * w,  S = sum n, Q = sum n^2
//
// All gradients are w times one factor per group. So two passes over the weight do: norms, and then
// gradients by factors. Sums are in f64.
#include "shoal/train/step/optimizer/regularizer.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shoal::train {
namespace {

using Groups = Regularizer::Groups;
using Penalty = Regularizer::Penalty;

// Which group an element is in.
class Grouping {
 public:
  Grouping(const Regularizer& regularizer, const Shape& shape)
      : groups_(regularizer.groups),
        block_(regularizer.block),
        clusters_(regularizer.clusters),
        rows_(shape[0]),
        columns_(shape.count(1, shape.rank())),
        channel_(shape.count(2, shape.rank())) {}

  int64_t count() const {
    switch (groups_) {
      case Groups::kElements:
        return rows_ * columns_;
      case Groups::kFilters:
        return rows_;
      case Groups::kChannels:
        return columns_ / std::max<int64_t>(channel_, 1);
      case Groups::kColumns:
        return columns_;
      case Groups::kBlocks:
        return blocks(rows_) * blocks(columns_);
      case Groups::kClusters:
        return clusters_ * std::min(rows_, columns_);
    }
    return 0;
  }

  // kNone where no group has the element.
  int64_t of(int64_t row, int64_t column) const {
    switch (groups_) {
      case Groups::kElements:
        return row * columns_ + column;
      case Groups::kFilters:
        return row;
      case Groups::kChannels:
        return column / channel_;
      case Groups::kColumns:
        return column;
      case Groups::kBlocks:
        return row / block_ * blocks(columns_) + column / block_;
      case Groups::kClusters: {
        const int64_t row_part = row * clusters_ / rows_,
                      column_part = column * clusters_ / columns_;
        if (row_part == column_part) return kNone;
        return columns_ <= rows_ ? column * clusters_ + row_part : row * clusters_ + column_part;
      }
    }
    return 0;
  }

  // Calls f(element, group) for all elements that are in one, in memory order.
  template <class F>
  void for_each(const F& f) const {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t column = 0; column < columns_; ++column) {
        const int64_t group = of(row, column);
        if (group == kNone) continue;
        f(static_cast<size_t>(row * columns_ + column), static_cast<size_t>(group));
      }
    }
  }

 private:
  int64_t blocks(int64_t length) const { return (length + block_ - 1) / block_; }

  static constexpr int64_t kNone = -1;

  Groups groups_;
  int64_t block_, clusters_, rows_, columns_, channel_;
};

template <class T>
std::vector<double> norms_of(const Grouping& grouping, std::span<const T> w) {
  std::vector<double> norms(static_cast<size_t>(grouping.count()));
  grouping.for_each([&](size_t i, size_t group) {
    norms[group] += static_cast<double>(w[i]) * static_cast<double>(w[i]);
  });
  for (double& n : norms) n = std::sqrt(n);
  return norms;
}

}  // namespace

double penalize(Regularizer::Penalty penalty, std::span<double> norms) {
  double sum = 0, squares = 0;
  for (double n : norms) {
    sum += n;
    squares += n * n;
  }
  if (squares == 0) return 0;
  for (double& n : norms) {
    if (n == 0) continue;
    n = penalty == Penalty::kLasso    ? 1 / n
        : penalty == Penalty::kSquare ? 2
                                      : 2 * sum / (squares * squares) * (squares / n - sum);
  }
  return penalty == Penalty::kLasso    ? sum
         : penalty == Penalty::kSquare ? squares
                                       : sum * sum / squares;
}

double regularize(const Regularizer& regularizer, const Tensor& weight, Tensor& gradient) {
  SHOAL_CHECK(weight.shape().rank() >= 2 && weight.type() == gradient.type());
  const Grouping grouping(regularizer, weight.shape());
  double penalty = 0;
  visit<Types<float, double>>(weight.dtype(), [&]<class T>() {
    const std::span<const T> w = weight.data<T>();
    const std::span<T> g = gradient.data<T>();
    std::vector<double> groups = norms_of(grouping, w);
    penalty = regularizer.strength * penalize(regularizer.penalty, groups);
    grouping.for_each([&](size_t i, size_t group) {
      g[i] += static_cast<T>(regularizer.strength * groups[group] * static_cast<double>(w[i]));
    });
  });
  return penalty;
}

Tensor without_small_groups(const Regularizer& regularizer, const Tensor& weight, double share) {
  SHOAL_CHECK(weight.shape().rank() >= 2 && share < 1);
  const Grouping grouping(regularizer, weight.shape());
  Tensor result = weight.clone();
  visit<Types<float, double>>(weight.dtype(), [&]<class T>() {
    const std::vector<double> norms = norms_of(grouping, weight.data<T>());
    const double largest = norms.empty() ? 0 : *std::ranges::max_element(norms);
    const std::span<T> w = result.data<T>();
    grouping.for_each([&](size_t i, size_t group) {
      if (norms[group] <= share * largest) w[i] = 0;
    });
  });
  return result;
}

}  // namespace shoal::train
