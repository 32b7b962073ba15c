// Records of element-wise operators, each made from one function of elements:
//   SHOAL_RECORD(cos) = unary<Floats>("Cos", [](auto x) { return std::cos(x); });
// A function of one element with parameters is a functor that names them in kParameters and is
// called as f(x, alpha, beta). One with other attributes is constructed from its node, so that they
// are read once. A static `check(node, inputs)`, if there is one, refuses bad attributes.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {

using ElementParameters = std::array<ElementParameter, 2>;

// The parameter as a node's attribute gives it; `value` if the parameter is not an attribute.
inline float attribute_of(const Node& node, const ElementParameter& parameter) {
  if (parameter.attribute.empty()) return parameter.value;
  if (parameter.text.empty()) return node.real(parameter.attribute, parameter.value);
  return node.text(parameter.attribute, {}) == parameter.text ? 1.0f : 0.0f;
}

template <class F>
concept HasParameters = requires {
  F::kParameters;
};

template <class F>
constexpr ElementParameters parameters_of() {
  if constexpr (HasParameters<F>) {
    return F::kParameters;
  } else {
    return {};
  }
}

// Parameters are floats; where elements are integers, the two meet in double.
template <class T>
using ParameterOf = std::conditional_t<std::is_floating_point_v<T>, T, double>;

template <class F, class T>
auto call(const F& f, T x, ParameterOf<T> alpha, ParameterOf<T> beta) {
  if constexpr (HasParameters<F>) {
    return f(x, alpha, beta);
  } else {
    return f(x);
  }
}

// f as a plain function that a record can point to. F has no state, so one that is
// default-constructed will do.
template <class F, class T>
T scalar_function(T x, T alpha, T beta) {
  return call(F{}, x, alpha, beta);
}

template <class F>
F make_function(const Node& node) {
  if constexpr (std::is_constructible_v<F, const Node&>) {
    return F(node);
  } else {
    return F{};
  }
}

// The element type of the result: bool for a predicate, T for every other function.
template <class T, class Y>
using ElementOf = std::conditional_t<std::is_same_v<Y, bool>, bool, T>;
template <class T, class F>
using UnaryResult = ElementOf<T, decltype(call(std::declval<const F&>(), Compute<T>{}, 0, 0))>;
template <class T, class F>
using BinaryResult = ElementOf<T, std::invoke_result_t<const F&, Compute<T>, Compute<T>>>;

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
  visit<List>(type.dtype, [&]<class T>() { type.dtype = kDTypeOf<UnaryResult<T, F>>; });
  return std::vector{type};
}

template <class F, class List>
void reference_unary(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  constexpr ElementParameters parameters = parameters_of<F>();
  const F f = make_function<F>(node);
  const float alpha = attribute_of(node, parameters[0]), beta = attribute_of(node, parameters[1]);
  visit<List>(inputs[0].dtype(), [&]<class T>() {
    using Y = UnaryResult<T, F>;
    std::ranges::transform(inputs[0].data<T>(), outputs[0].data<Y>().begin(), [&](T x) {
      return static_cast<Y>(call(f, static_cast<Compute<T>>(x), alpha, beta));
    });
  });
}

template <class F, class List>
Result<std::vector<TensorType>> infer_binary(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<List>(inputs[0]));
  SHOAL_TRY(require_same_type(inputs));
  SHOAL_TRY(check_attributes<F>(node, inputs));
  SHOAL_ASSIGN(Shape shape, broadcast(inputs));
  TensorType type{inputs[0].type.dtype, shape};
  visit<List>(type.dtype, [&]<class T>() { type.dtype = kDTypeOf<BinaryResult<T, F>>; });
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
    using Y = BinaryResult<T, F>;
    for_each_pair<Y, T, T>(inputs[0], inputs[1], outputs[0], f);
  });
}

// Output 0 may share the memory of input 0 only if element i of one lies where element i of the
// other does. The elements of a predicate are smaller, so a stretched input may have as many bytes
// as the output and yet other offsets.
template <class... Ts, class Result>
constexpr bool keeps_place(Types<Ts...>, Result result_size) {
  return ((result_size.template operator()<Ts>() == sizeof(Ts)) && ...);
}

// The element-wise part of unary()'s record. A function of floats is also recorded by itself, for
// kernels that fuse it.
template <class List, class F>
constexpr Elementwise one_operand() {
  Elementwise result{.operands = 1, .parameters = parameters_of<F>()};
  if constexpr (List::contains(DType::kF32)) {
    if constexpr (std::is_same_v<UnaryResult<float, F>, float>) {
      result.f32 = scalar_function<F, float>;
      result.f64 = scalar_function<F, double>;
    }
  }
  return result;
}

template <class List, class F>
constexpr Operator unary(std::string_view name) {
  constexpr auto result_size = []<class T>() { return sizeof(UnaryResult<T, F>); };
  return {.name = name,
          .infer = infer_unary<F, List>,
          .reference = reference_unary<F, List>,
          .split = split_elementwise,
          .elementwise = one_operand<List, F>(),
          .in_place = keeps_place(List{}, result_size),
          .linear_time = true};
}
template <class List, class F>
constexpr Operator unary(std::string_view name, F) {
  return unary<List, F>(name);
}

template <class List, class F>
constexpr Operator binary(std::string_view name) {
  constexpr auto result_size = []<class T>() { return sizeof(BinaryResult<T, F>); };
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = 2,
          .infer = infer_binary<F, List>,
          .reference = reference_binary<F, List>,
          .split = split_elementwise,
          .elementwise = {.operands = 2},
          .in_place = keeps_place(List{}, result_size),
          .linear_time = true};
}
template <class List, class F>
constexpr Operator binary(std::string_view name, F) {
  return binary<List, F>(name);
}

constexpr Operator linear(Operator op) {
  op.linear = true;
  return op;
}

constexpr Operator finite(Operator op) {
  op.elementwise.finite = true;
  return op;
}

}  // namespace shoal::ops
