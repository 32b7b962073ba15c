// Conversions between element types, defined for every value, unlike the language's.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <vector>

#include "shoal/model/tensor/tensor.h"

namespace shoal::ops {

// The type in which integers are added and multiplied: unsigned arithmetic wraps where signed
// arithmetic is undefined. Types narrower than int are promoted first, so that two uint16_t are not
// multiplied as int. Floats are unchanged.
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

// A float that rounds to a 16-bit float as x itself would. The nearest float may lie half-way
// between two of them where x does not. Of the two floats around x, the one whose last bit is odd
// never does.
inline float narrowed(double x) {
  const auto nearest = static_cast<float>(x);
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (double{nearest} == x || std::isnan(x) || (bits & 1) != 0) return nearest;
  // The other float is the next one in magnitude, on the other side of x.
  const bool is_larger = std::abs(double{nearest}) < std::abs(x);
  return std::bit_cast<float>(is_larger ? bits + 1 : bits - 1);
}
template <class T>
float narrowed(T x) {
  return static_cast<float>(x);
}

// Converts as ONNX's Cast does: floats to integers saturate, wide integers to narrow ones keep the
// low bits, every element other than zero is true. Floats are rounded to nearest, once. Cast itself
// rounds to bf16 otherwise: see cast.h.
template <class To, class From>
To convert(From x) {
  using Source = Compute<From>;
  const auto source = static_cast<Source>(x);
  if constexpr (std::is_same_v<To, bool>) {
    return source != Source{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Source>) {
    return saturate<To>(source);
  } else if constexpr (!std::is_same_v<To, Compute<To>>) {
    return To(narrowed(source));
  } else {
    return static_cast<To>(static_cast<Compute<To>>(source));
  }
}

// Converts every element, in order. REQUIRES: the tensors have the same number of elements.
void convert(const Tensor& from, Tensor& to);

// The tensor with every element converted. Shares the storage if it already has this type.
Tensor converted(const Tensor& tensor, DType dtype);

std::vector<double> doubles_of(const Tensor& tensor);

}  // namespace shoal::ops
