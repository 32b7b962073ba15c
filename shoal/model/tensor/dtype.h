// DType: the element types of tensors, their C++ types, and how to get from one to the other.
// Thread-safe; nothing fails.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "shoal/base/status.h"

#pragma GCC visibility push(default)

namespace shoal {

// The type of a tensor's elements. The values are part of the ABI.
enum class DType : uint8_t {
  kF32,   // float
  kF64,   // double
  kF16,   // Half
  kBF16,  // BFloat16
  kI8,
  kU8,
  kI16,
  kU16,
  kI32,
  kU32,
  kI64,
  kU64,
  kBool,  // bool: one byte, 0 or 1
};

// The number of element types.
inline constexpr size_t kDTypeCount = 13;

// Bytes of one element. REQUIRES: t is one of the enumerators.
constexpr size_t size_of(DType t) {
  constexpr std::array<size_t, kDTypeCount> bytes = {4, 8, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return bytes[static_cast<size_t>(t)];
}

// The name of an element type in text: "f32", "bool". REQUIRES: t is one of the enumerators.
constexpr std::string_view name_of(DType t) {
  constexpr std::array<std::string_view, kDTypeCount> names = {
      "f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"};
  return names[static_cast<size_t>(t)];
}

// IEEE binary16, kept as bits; arithmetic happens in float.
class Half {
 public:
  Half() = default;
  // Rounds to nearest even; a value too large becomes infinite.
  Half(float value);
  // Exact.
  operator float() const;

 private:
  uint16_t bits_ = 0;
};

// bfloat16: the upper half of a float, with its range and 8 bits of precision.
class BFloat16 {
 public:
  BFloat16() = default;
  // Rounds to nearest even.
  BFloat16(float value);
  static BFloat16 truncated(float value);  // rounded towards zero
  // Exact.
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits_) << 16); }

 private:
  uint16_t bits_ = 0;
};

// The type an operator computes in: float for the 16-bit formats, itself for the others.
template <class T>
using Compute =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

// A list of element types.
template <class... Ts>
struct Types;

// All of them, in the order of DType, which is how a C++ type finds its DType.
using AllTypes = Types<float, double, Half, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t,
                       uint32_t, int64_t, uint64_t, bool>;

// The place of T in a list, as a DType.
template <class T, class... Ts>
constexpr DType dtype_in(const Types<Ts...>*) {
  size_t index = 0;
  const bool found = ((std::is_same_v<T, Ts> || (++index, false)) || ...);
  return static_cast<DType>(found ? index : kDTypeCount);
}
// The DType of a C++ type: kDTypeOf<float> is DType::kF32.
template <class T>
inline constexpr DType kDTypeOf = dtype_in<T>(static_cast<const AllTypes*>(nullptr));

template <class... Ts>
struct Types {
  // Whether the list has this element type.
  static constexpr bool contains(DType t) { return ((t == kDTypeOf<Ts>) || ...); }
};

// The lists that operators accept.
using Floats = Types<float, double, Half, BFloat16>;
using SignedInts = Types<int8_t, int16_t, int32_t, int64_t>;
using UnsignedInts = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Ints = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
using Numbers = Types<float, double, Half, BFloat16, int8_t, uint8_t, int16_t, uint16_t, int32_t,
                      uint32_t, int64_t, uint64_t>;
using Indices = Types<int32_t, int64_t>;

// Calls f with the one T of the list that dtype names, as in
//
//   visit<Floats>(dtype, [&]<class T>() { ... });
//
// REQUIRES: List::contains(dtype).
template <class List, class F>
void visit(DType dtype, F&& f) {
  [&]<class... Ts>(Types<Ts...>) {
    const bool found =
        ((dtype == kDTypeOf<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
    SHOAL_CHECK(found);
  }(List{});
}

}  // namespace shoal

#pragma GCC visibility pop
