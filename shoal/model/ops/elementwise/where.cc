// Where: y_i = condition_i ? a_i : b_i, all three broadcast. a and b may have any element type.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_where(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Types<bool>>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs.subspan(1)));
  SHOAL_ASSIGN(const Shape shape, broadcast(inputs));
  return std::vector{TensorType{inputs[1].type.dtype, shape}};
}

void reference_where(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const std::array strides = {strides_of(shape), broadcast_strides(inputs[0].shape(), shape),
                              broadcast_strides(inputs[1].shape(), shape),
                              broadcast_strides(inputs[2].shape(), shape)};
  const bool* condition = inputs[0].data<bool>().data();
  visit<AllTypes>(outputs[0].dtype(), [&]<class T>() {
    T* y = outputs[0].data<T>().data();
    const T* a = inputs[1].data<T>().data();
    const T* b = inputs[2].data<T>().data();
    for_each_run(shape, strides, [&](auto at, auto step, int64_t n) {
      for (int64_t k = 0; k < n; ++k) {
        y[at[0] + k] =
            condition[at[1] + k * step[1]] ? a[at[2] + k * step[2]] : b[at[3] + k * step[3]];
      }
    });
  });
}

}  // namespace

// Not in_place: input 0 is the condition, whose elements are of another size.
SHOAL_RECORD(where) = {.name = "Where",
                       .min_inputs = 3,
                       .max_inputs = 3,
                       .infer = infer_where,
                       .reference = reference_where,
                       .split = split_elementwise,
                       .elementwise = {.operands = 3},
                       .linear_time = true,
                       .gradient = where_gradient};

}  // namespace shoal::ops
