// Records of element-wise operators, each made from one function of elements:
//   const Operator cos = unary<Floats>("Cos", [](auto x) { return std::cos(x); });
// An operator with attributes is a functor constructed from its node, so that they are read once;
// its static `check(node, inputs)`, where there is one, refuses bad attributes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shoal/graph/graph.h"
#include "shoal/ops/broadcast.h"
#include "shoal/ops/require.h"

namespace shoal::ops {

template <class F>
F make_function(const Node& node) {
  if constexpr (std::is_constructible_v<F, const Node&>) {
    return F(node);
  } else {
    return F{};
  }
}

// What f of one or two T gives: bool from a predicate, T from every other function.
template <class T, class F, class... Arguments>
using ResultOf =
    std::conditional_t<std::is_same_v<std::invoke_result_t<const F&, Arguments...>, bool>, bool, T>;

template <class F>
Status check_attributes(const Node& node, std::span<const Operand> inputs) {
  if constexpr (requires { F::check(node, inputs); }) {
    return F::check(node, inputs);
  } else {
    return {};
  }
}

template <class F, class List>
Result<std::vector<TensorType>> infer_unary(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_TRY(check_attributes<F>(node, inputs));
  TensorType type = inputs[0].type;
  visit<List>(type.dtype, [&]<class T>() { type.dtype = kDTypeOf<ResultOf<T, F, Compute<T>>>; });
  return std::vector{type};
}

template <class F, class List>
void reference_unary(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f = make_function<F>(node);
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    using Y = ResultOf<T, F, Compute<T>>;
    std::ranges::transform(inputs[0].data<T>(), outputs[0].data<Y>().begin(),
                           [&](T x) { return static_cast<Y>(f(static_cast<Compute<T>>(x))); });
  });
}

template <class F, class List>
Result<std::vector<TensorType>> infer_binary(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_TRY(check_attributes<F>(node, inputs));
  SHOAL_ASSIGN(Shape shape, broadcast(inputs));
  TensorType type{inputs[0].type.dtype, shape};
  visit<List>(type.dtype,
              [&]<class T>() { type.dtype = kDTypeOf<ResultOf<T, F, Compute<T>, Compute<T>>>; });
  return std::vector{type};
}

// y_i = f(a_i, b_i) over the shape that a and b broadcast to.
template <class Y, class A, class B, class F>
void for_each_pair(const Tensor& a_tensor, const Tensor& b_tensor, Tensor& y_tensor, const F& f) {
  const Shape& shape = y_tensor.shape();
  const std::array strides = {strides_of(shape), broadcast_strides(a_tensor.shape(), shape),
                              broadcast_strides(b_tensor.shape(), shape)};
  Y* y = y_tensor.data<Y>().data();
  const A* a = a_tensor.data<A>().data();
  const B* b = b_tensor.data<B>().data();
  for_each_run(shape, strides, [&](auto at, auto step, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
      y[at[0] + k] = static_cast<Y>(f(static_cast<Compute<A>>(a[at[1] + k * step[1]]),
                                      static_cast<Compute<B>>(b[at[2] + k * step[2]])));
    }
  });
}

template <class F, class List>
void reference_binary(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const F f = make_function<F>(node);
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    using Y = ResultOf<T, F, Compute<T>, Compute<T>>;
    for_each_pair<Y, T, T>(inputs[0], inputs[1], outputs[0], f);
  });
}

// Output 0 may share memory only if every element stays where it was: a predicate's elements are
// smaller, and an input that stretches to it may have as many bytes all the same.
template <class... Ts, class Result>
constexpr bool keeps_place(Types<Ts...>, Result result_size) {
  return ((result_size.template operator()<Ts>() == sizeof(Ts)) && ...);
}

template <class List, class F>
constexpr Operator unary(std::string_view name) {
  constexpr auto result_size = []<class T>() { return sizeof(ResultOf<T, F, Compute<T>>); };
  return {.name = name,
          .infer = infer_unary<F, List>,
          .reference = reference_unary<F, List>,
          .split = split_elementwise,
          .in_place = keeps_place(List{}, result_size)};
}
template <class List, class F>
constexpr Operator unary(std::string_view name, F) {
  return unary<List, F>(name);
}

template <class List, class F>
constexpr Operator binary(std::string_view name) {
  constexpr auto result_size = []<class T>() {
    return sizeof(ResultOf<T, F, Compute<T>, Compute<T>>);
  };
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_binary<F, List>,
          .reference = reference_binary<F, List>,
          .split = split_elementwise,
          .in_place = keeps_place(List{}, result_size)};
}
template <class List, class F>
constexpr Operator binary(std::string_view name, F) {
  return binary<List, F>(name);
}

constexpr Operator linear(Operator op) {
  op.linear = true;
  return op;
}

}  // namespace shoal::ops
