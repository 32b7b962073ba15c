// Element types of ONNX that Shoal's tensors lack: floats of 8 and 4 bits, integers of 4 and 2.
// Their values are held exactly, in the smallest type that represents all of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/model/tensor/tensor.h"

namespace shoal::ops {

struct NarrowType {
  int64_t number;         // TensorProto.DataType
  std::string_view name;  // "float8e4m3fn"
  size_t bits;
  DType held;
  // Of floats, 0 for integers. A float with exponent bits and no others is a power of two.
  int exponent_bits = 0, mantissa_bits = 0, bias = 0;
  // What the codes stand for that IEEE would give to infinities and NaNs.
  enum Specials { kIeee, kNanAtTheTop, kNanAsMinusZero, kNone } specials = kNone;

  bool is_float() const { return exponent_bits > 0; }
  bool is_power_of_two() const { return is_float() && mantissa_bits == 0; }
  bool is_signed() const { return held == DType::kI8; }  // of integers
};

// Null for the numbers of other types.
const NarrowType* find_narrow_type(int64_t number);

// The bytes that `count` elements take in a file, packed. REQUIRES: count >= 0.
size_t packed_bytes(const NarrowType& type, int64_t count);

// Elements as a file has them, the first in the lowest bits, to elements of type.held. REQUIRES:
// `packed` has packed_bytes() of the elements of `to`.
void unpack(const NarrowType& type, std::span<const std::byte> packed, Tensor& to);

// How to convert a number that the type cannot represent.
struct Rounding {
  enum class Power : uint8_t { kUp, kDown, kClosest };

  // Floats of 8 bits: too large a number becomes the largest, else NaN or infinite.
  bool saturate = true;
  Power power = Power::kUp;  // to a power of two
};

// Each element of `from` as the nearest value of the type; to integers, its lowest bits. REQUIRES:
// `to` is of type.held and has as many elements.
void round_to(const NarrowType& type, const Rounding& rounding, const Tensor& from, Tensor& to);

}  // namespace shoal::ops
