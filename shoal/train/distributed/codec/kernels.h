// Inner loops of the codecs, over contiguous elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal::learn {

// False if any element is NaN.
bool is_within(std::span<const float> x, float limit);
float max_abs(std::span<const float> x);
// REQUIRES of all functions of two spans: both have the same size.
float dot(std::span<const float> a, std::span<const float> b);
// y += a x. A product is rounded before it is added, on every processor.
void add_scaled(std::span<float> y, float a, std::span<const float> x);

// y = H y for the unnormalised Hadamard matrix H of a power of two. Mixes each element with those
// at multiples of `apart`, a power of two. REQUIRES: the size of y is a power of two.
void hadamard(std::span<float> y, size_t apart);

// y = x * factor where the bit is 1, -x * factor where it is 0; x and y may be the same. Sign bits
// are 1 for x >= 0, the first in the lowest bit. REQUIRES: sizes are multiples of 64.
void turn(std::span<const float> x, const uint64_t* bits, float factor, std::span<float> y);
float to_signs(std::span<const float> x, uint64_t* bits);   // returns the sum of |x|
void from_signs(const uint64_t* bits, std::span<float> y);  // 1 or -1

void to_f16(std::span<const float> x, uint16_t* y);  // saturates
void from_f16(const uint16_t* x, std::span<float> y);
// y = x * factor to the nearest integer, and back. REQUIRES: |x * factor| <= 127.
void to_i8(std::span<const float> x, float factor, int8_t* y);
void from_i8(const int8_t* x, float factor, std::span<float> y);

// Sums over the two signs. Zero is positive.
struct Sides {
  float positive = 0, negative = 0;
  size_t positives = 0;
};
// v += g; codes = v >= 0; and the sums of v.
Sides add_and_split(std::span<const float> g, std::span<float> v, uint8_t* codes);
// v -= one of two levels, by its code.
void subtract_level(std::span<float> v, const uint8_t* codes, float zero, float one);
void choose_level(const uint8_t* codes, float zero, float one, std::span<float> y);

// Stochastic rounding of |x| * factor to one of 0 .. levels; the bit above the level is the sign.
// The random number of an element is a function of key and index. REQUIRES: levels + 1 is a power
// of two, at most 64; |x| * factor is at most `levels`, but for rounding.
struct Rounding {
  float factor = 1;
  uint32_t levels = 1;
  uint32_t key = 0;
  uint32_t first = 0;  // index of the first element
};
void round_randomly(std::span<const float> x, const Rounding& rounding, uint8_t* codes);
// y = unit * level, with the sign.
void from_levels(const uint8_t* codes, float unit, uint32_t levels, std::span<float> y);

// Packs one bit of every code, eight to a byte, lowest bit first; unused bits are zero. `to` and
// `from` have (codes.size() + 7) / 8 bytes. Unpacking bit 0 clears the others.
void pack_bits(std::span<const uint8_t> codes, int bit, uint8_t* to);
void unpack_bits(const uint8_t* from, int bit, std::span<uint8_t> codes);

// u = momentum * u + g; v += u.
void accumulate(std::span<const float> g, float momentum, std::span<float> u, std::span<float> v);
// Writes the indices of |v| >= threshold, ascending; returns their number. REQUIRES: `indices` has
// v.size() + 64 elements.
size_t collect(std::span<const float> v, float threshold, uint32_t* indices);

}  // namespace shoal::learn
