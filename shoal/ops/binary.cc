// Element-wise operators of two inputs that broadcast: y_i = f(a_i, b_i).
#include <cmath>

#include "shoal/graph/graph.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

template <class List>
Result<std::vector<TensorType>> infer(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_ASSIGN(Shape shape, broadcast(inputs));
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

template <class F, class List>
void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f(node);
  const Shape& shape = outputs[0].shape();
  const std::array strides = {strides_of(shape), broadcast_strides(inputs[0].shape(), shape),
                              broadcast_strides(inputs[1].shape(), shape)};
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    T* y = outputs[0].data<T>().data();
    const T* a = inputs[0].data<T>().data();
    const T* b = inputs[1].data<T>().data();
    for_each_run(shape, strides, [&](auto at, auto step, int64_t n) {
      for (int64_t k = 0; k < n; ++k) {
        y[at[0] + k] = static_cast<T>(f(static_cast<Compute<T>>(a[at[1] + k * step[1]]),
                                        static_cast<Compute<T>>(b[at[2] + k * step[2]])));
      }
    });
  });
}

template <class F, class List>
constexpr Operator binary(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer<List>,
          .reference = reference<F, List>,
          .split = split_elementwise,
          .in_place = true};
}

struct Add {
  explicit Add(const Node&) {}
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

}  // namespace

const Operator add = binary<Add, Numbers>("Add");

}  // namespace shoal::ops
