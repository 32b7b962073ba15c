// Conversions of the 16-bit formats to and from float.
#include "shoal/model/tensor/dtype.h"

namespace shoal {

// Both directions follow IEEE 754: round to nearest even, subnormals and NaN kept. NaNs stay quiet
// NaNs: the quiet bit is set, or a payload cut to zero would read as infinity.
Half::Half(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>(f >> 16 & 0x8000u);
  const uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {  // infinity or NaN
    const uint32_t payload = magnitude > 0x7f800000u ? 0x200u | (magnitude >> 13 & 0x3ffu) : 0u;
    bits_ = static_cast<uint16_t>(sign | 0x7c00u | payload);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or beyond
    bits_ = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude >= 0x38800000u) {  // normal
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    bits_ = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
  } else {  // subnormal: adding 0.5 aligns the bits, and the FPU rounds
    const float lined_up = std::bit_cast<float>(magnitude) + 0.5f;
    bits_ = static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(lined_up) - 0x3f000000u));
  }
}

Half::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits_ & 0x8000u) << 16;
  const uint32_t magnitude = bits_ & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  const float tiny = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(tiny));
}

BFloat16::BFloat16(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  // Adding the rounding term to a NaN could carry into the exponent and give infinity or zero.
  const bool is_nan = (f & 0x7fffffffu) > 0x7f800000u;
  bits_ = static_cast<uint16_t>(is_nan ? f >> 16 | 0x40u : (f + 0x7fffu + (f >> 16 & 1u)) >> 16);
}

BFloat16 BFloat16::truncated(float value) {
  const uint32_t f = std::bit_cast<uint32_t>(value);
  const bool is_nan = (f & 0x7fffffffu) > 0x7f800000u;
  BFloat16 result;
  result.bits_ = static_cast<uint16_t>(is_nan ? f >> 16 | 0x40u : f >> 16);
  return result;
}

}  // namespace shoal
