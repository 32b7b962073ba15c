// NonZero: the positions of the elements that are not zero, as a matrix [rank, n] with one column
// each. The elements decide n, so the input must be a constant. NaN is not zero.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Calls f with the row-major position of each such element.
template <class F>
void for_each_nonzero(const Tensor& tensor, F f) {
  visit<AllTypes>(tensor.dtype(), [&]<class T>() {
    int64_t k = 0;
    for (T x : tensor.data<T>()) {
      if (static_cast<Compute<T>>(x) != Compute<T>{0}) f(k);
      ++k;
    }
  });
}

// A scalar gives [0, n] in ONNX, [1, n] in NumPy.
Result<std::vector<TensorType>> infer_non_zero(const Node&, std::span<const Operand> inputs) {
  const auto rank = static_cast<int64_t>(inputs[0].type.shape.rank());
  int64_t n = 0;
  for_each_nonzero(*inputs[0].value, [&](int64_t) { ++n; });
  return std::vector{TensorType{DType::kI64, {rank, n}}};
}

void reference_non_zero(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const int64_t n = outputs[0].shape()[1];
  int64_t* column = outputs[0].data<int64_t>().data();  // of [rank, n]
  for_each_nonzero(inputs[0], [&](int64_t position) {
    for (size_t d = shape.rank(); d-- > 0; position /= shape[d]) {
      column[static_cast<int64_t>(d) * n] = position % shape[d];
    }
    ++column;
  });
}

}  // namespace

SHOAL_RECORD(non_zero) = {.name = "NonZero",
                          .value_inputs = 1 << 0,
                          .infer = infer_non_zero,
                          .reference = reference_non_zero,
                          .linear_time = true};

}  // namespace shoal::ops
