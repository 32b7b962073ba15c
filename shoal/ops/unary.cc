// Element-wise operators of one input: y_i = f(x_i). An operator here is a functor made from its
// node, which reads the attributes once, and one line at the end.
#include <algorithm>
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
  return std::vector{inputs[0].type};
}

template <class F, class List>
void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f(node);
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    std::ranges::transform(inputs[0].data<T>(), outputs[0].data<T>().begin(),
                           [&](T x) { return static_cast<T>(f(static_cast<Compute<T>>(x))); });
  });
}

template <class F, class List>
constexpr Operator unary(std::string_view name) {
  return {.name = name,
          .infer = infer<List>,
          .reference = reference<F, List>,
          .split = split_elementwise,
          .in_place = true};
}

struct Relu {
  explicit Relu(const Node&) {}
  template <class T>
  T operator()(T x) const {
    return std::max(x, T{0});
  }
};

}  // namespace

const Operator relu = unary<Relu, Numbers>("Relu");

}  // namespace shoal::ops
