// Conversions between element types that are defined for every value, which the language's are not.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "shoal/tensor/tensor.h"

namespace shoal::ops {

// What integers are added and multiplied in: unsigned arithmetic wraps where signed arithmetic is
// undefined. Floats are left alone.
template <class T>
struct ModularOf {
  using type = T;
};
template <std::integral T>
struct ModularOf<T> {
  using type = std::make_unsigned_t<decltype(T{} + T{})>;
};
template <class T>
using Modular = typename ModularOf<T>::type;

// The nearest value of an integer type, fractions cut off; NaN gives 0.
template <std::integral To>
To saturate(double x) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  // As a double, the largest 64-bit integer is one too large, hence >=.
  if (x >= static_cast<double>(Limits::max())) return Limits::max();
  return static_cast<To>(x);
}

// As ONNX's Cast: floats to integers saturate, wide integers to narrow ones keep the low bits,
// whatever is not zero is true, and bf16 is cut off (ONNX 1.12's vectors; arithmetic in bf16
// rounds).
template <class To, class From>
To convert(From x) {
  using Source = Compute<From>;
  const auto source = static_cast<Source>(x);
  if constexpr (std::is_same_v<To, bool>) {
    return source != Source{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Source>) {
    return saturate<To>(source);
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16::truncated(static_cast<float>(source));
  } else {
    return static_cast<To>(static_cast<Compute<To>>(source));
  }
}

// Every element, in order; the tensors have the same count.
void convert(const Tensor& from, Tensor& to);

// The tensor with every element converted; shares the storage if there is nothing to do.
Tensor converted(const Tensor& tensor, DType dtype);

}  // namespace shoal::ops
