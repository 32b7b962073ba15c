// Conversion of whole tensors.
#include "shoal/model/ops/convert.h"

#include <algorithm>

namespace shoal::ops {

// Both element types are resolved once per tensor, which leaves a loop over two plain arrays.
void convert(const Tensor& from, Tensor& to) {
  visit<AllTypes>(from.dtype(), [&]<class From>() {
    visit<AllTypes>(to.dtype(), [&]<class To>() {
      std::ranges::transform(from.data<From>(), to.data<To>().begin(), convert<To, From>);
    });
  });
}

Tensor converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result({dtype, tensor.shape()});
  convert(tensor, result);
  return result;
}

std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor doubles = converted(tensor, DType::kF64);
  return {doubles.data<double>().begin(), doubles.data<double>().end()};
}

}  // namespace shoal::ops
