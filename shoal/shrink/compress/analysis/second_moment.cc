#include "shoal/shrink/compress/analysis/second_moment.h"

#include <cmath>

namespace shoal::compress {

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

}  // namespace shoal::compress
