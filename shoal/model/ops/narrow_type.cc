#include "shoal/model/ops/narrow_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "shoal/model/ops/convert.h"

namespace shoal::ops {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr std::array<NarrowType, 10> kTypes = {{
    {17, "float8e4m3fn", 8, DType::kF16, 4, 3, 7, NarrowType::kNanAtTheTop},
    {18, "float8e4m3fnuz", 8, DType::kF16, 4, 3, 8, NarrowType::kNanAsMinusZero},
    {19, "float8e5m2", 8, DType::kF16, 5, 2, 15, NarrowType::kIeee},
    {20, "float8e5m2fnuz", 8, DType::kF16, 5, 2, 16, NarrowType::kNanAsMinusZero},
    {21, "uint4", 4, DType::kU8},
    {22, "int4", 4, DType::kI8},
    {23, "float4e2m1", 4, DType::kF16, 2, 1, 1, NarrowType::kNone},
    {24, "float8e8m0", 8, DType::kF32, 8, 0, 127, NarrowType::kNanAtTheTop},
    {25, "uint2", 2, DType::kU8},
    {26, "int2", 2, DType::kI8},
}};

// The value of a code without its sign.
double magnitude(const NarrowType& type, int code) {
  if (type.is_power_of_two()) return code == 255 ? kNan : std::ldexp(1, code - type.bias);
  const int mantissa = code & ((1 << type.mantissa_bits) - 1);
  const int exponent = code >> type.mantissa_bits, top = (1 << type.exponent_bits) - 1;
  if (type.specials == NarrowType::kIeee && exponent == top)
    return mantissa == 0 ? kInfinity : kNan;
  if (type.specials == NarrowType::kNanAtTheTop && code == (1 << (type.bits - 1)) - 1) return kNan;
  const int implicit = exponent > 0 ? 1 << type.mantissa_bits : 0;
  return std::ldexp(mantissa + implicit, std::max(exponent, 1) - type.bias - type.mantissa_bits);
}

double value_of(const NarrowType& type, int code) {
  if (type.is_float()) {
    if (type.is_power_of_two()) return magnitude(type, code);
    const int sign = 1 << (type.bits - 1);
    if (type.specials == NarrowType::kNanAsMinusZero && code == sign) return kNan;
    return (code & sign) != 0 ? -magnitude(type, code - sign) : magnitude(type, code);
  }
  const int half = 1 << (type.bits - 1);
  return type.is_signed() && code >= half ? code - 2 * half : code;
}

// All magnitudes that a float type has, from 0 on, and one more: the next if there were no largest.
std::vector<double> magnitudes_of(const NarrowType& type) {
  std::vector<double> values;
  for (int code = 0; code < 1 << (type.bits - 1); ++code) {
    const double value = magnitude(type, code);
    if (!std::isfinite(value)) break;
    values.push_back(value);
  }
  const size_t n = values.size();
  values.push_back(values[n - 1] + (values[n - 1] - values[n - 2]));
  return values;
}

// The index of the nearest; of two that are as near the even one, whose last bit is 0.
size_t nearest(std::span<const double> values, double x) {
  const auto above = std::ranges::lower_bound(values, x);
  if (above == values.begin()) return 0;
  if (above == values.end()) return values.size() - 1;
  const auto i = static_cast<size_t>(above - values.begin());
  const double down = x - values[i - 1], up = values[i] - x;
  if (down != up) return down < up ? i - 1 : i;
  return i % 2 == 0 ? i : i - 1;
}

class FloatRounder {
 public:
  FloatRounder(const NarrowType& type, const Rounding& rounding)
      : type_(type), values_(magnitudes_of(type)), saturate_(rounding.saturate || !has_nan()) {}

  double operator()(double x) const {
    if (std::isnan(x)) return has_nan() ? x : 0;
    const size_t i = nearest(values_, std::abs(x));
    if (i + 1 < values_.size()) {
      const bool no_minus_zero = i == 0 && type_.specials == NarrowType::kNanAsMinusZero;
      return no_minus_zero ? 0 : std::copysign(values_[i], x);
    }
    if (saturate_) return std::copysign(values_[i - 1], x);
    return type_.specials == NarrowType::kIeee ? std::copysign(kInfinity, x) : kNan;
  }

 private:
  bool has_nan() const { return type_.specials != NarrowType::kNone; }

  const NarrowType& type_;
  const std::vector<double> values_;
  const bool saturate_;
};

// The powers are 2^-127 to 2^127. ONNX leaves numbers below 0 open; they are too small here.
double round_to_power(const Rounding& rounding, double x) {
  constexpr int kMost = 127;
  if (std::isnan(x)) return x;
  int exponent = -kMost - 1;
  if (std::isinf(x) && x > 0) {
    exponent = kMost + 1;
  } else if (x > 0) {
    const double fraction = std::frexp(x, &exponent);  // x = fraction * 2^exponent, from 1/2 to 1
    const bool up = rounding.power == Rounding::Power::kUp
                        ? fraction > 0.5
                        : rounding.power == Rounding::Power::kClosest && fraction >= 0.75;
    exponent += up ? 0 : -1;
  }
  if (std::abs(exponent) > kMost && !rounding.saturate) return kNan;
  return std::ldexp(1, std::clamp(exponent, -kMost, kMost));
}

// Calls f with each element as a double and stores what it gives.
template <class F>
void transform(const Tensor& from, Tensor& to, F f) {
  visit<AllTypes>(from.dtype(), [&]<class T>() {
    visit<Types<Half, float>>(to.dtype(), [&]<class H>() {
      std::ranges::transform(from.data<T>(), to.data<H>().begin(), [&](T x) {
        return static_cast<H>(static_cast<float>(f(convert<double>(x))));
      });
    });
  });
}

void keep_low_bits(const NarrowType& type, const Tensor& from, Tensor& to) {
  const int all = 1 << type.bits;
  visit<AllTypes>(from.dtype(), [&]<class T>() {
    visit<Types<int8_t, uint8_t>>(to.dtype(), [&]<class H>() {
      std::ranges::transform(from.data<T>(), to.data<H>().begin(), [&](T x) {
        const auto low = static_cast<int>(convert<int64_t>(x) & (all - 1));
        return static_cast<H>(value_of(type, low));
      });
    });
  });
}

}  // namespace

const NarrowType* find_narrow_type(int64_t number) {
  const auto it = std::ranges::find(kTypes, number, &NarrowType::number);
  return it == kTypes.end() ? nullptr : &*it;
}

size_t packed_bytes(const NarrowType& type, int64_t count) {
  const size_t in_byte = 8 / type.bits;
  return (static_cast<size_t>(count) + in_byte - 1) / in_byte;
}

void unpack(const NarrowType& type, std::span<const std::byte> packed, Tensor& to) {
  std::vector<double> values;
  for (int code = 0; code < 1 << type.bits; ++code) values.push_back(value_of(type, code));
  const size_t in_byte = 8 / type.bits, mask = values.size() - 1;
  visit<Types<int8_t, uint8_t, Half, float>>(to.dtype(), [&]<class H>() {
    std::vector<H> held;
    for (double value : values) held.push_back(static_cast<H>(static_cast<Compute<H>>(value)));
    const std::span<H> elements = to.data<H>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const auto byte = std::to_integer<size_t>(packed[i / in_byte]);
      elements[i] = held[byte >> (i % in_byte * type.bits) & mask];
    }
  });
}

void round_to(const NarrowType& type, const Rounding& rounding, const Tensor& from, Tensor& to) {
  if (!type.is_float()) return keep_low_bits(type, from, to);
  if (type.is_power_of_two()) {
    return transform(from, to, [&](double x) { return round_to_power(rounding, x); });
  }
  transform(from, to, FloatRounder(type, rounding));
}

}  // namespace shoal::ops
