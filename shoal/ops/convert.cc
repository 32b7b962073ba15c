#include "shoal/ops/convert.h"

#include <algorithm>

namespace shoal::ops {

Tensor converted(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  Tensor result({dtype, tensor.shape()});
  visit<AllTypes>(tensor.dtype(), [&]<class From>() {
    visit<AllTypes>(dtype, [&]<class To>() {
      std::ranges::transform(tensor.data<From>(), result.data<To>().begin(), convert<To, From>);
    });
  });
  return result;
}

}  // namespace shoal::ops
