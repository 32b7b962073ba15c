// Conversion of whole tensors.
#include "shoal/ops/convert.h"

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

}  // namespace shoal::ops
