// Conversions between element types that are defined for every value, which the language's are not.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "shoal/tensor/tensor.h"

namespace shoal::ops {

// The type in which integers are added and multiplied: unsigned arithmetic wraps where signed
// arithmetic is undefined. Types narrower than int are promoted first, so that two uint16_t are not
// multiplied as int. Floats stay as they are.
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

// Converts as ONNX's Cast does: floats to integers saturate, wide integers to narrow ones keep the
// low bits, every element other than zero is true. Bf16 is truncated, as the test vectors of ONNX
// 1.12 are; arithmetic in bf16 rounds to nearest.
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

// Converts every element, in order. REQUIRES: the tensors have the same number of elements.
void convert(const Tensor& from, Tensor& to);

// The tensor with every element converted. Shares the storage if it already has this type.
Tensor converted(const Tensor& tensor, DType dtype);

}  // namespace shoal::ops
