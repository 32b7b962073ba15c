// Element-wise mathematics of one input: y_i = f(x_i). Activations are in activation.cc.
#include <cmath>

#include "shoal/ops/convert.h"
#include "shoal/ops/elementwise.h"
#include "shoal/ops/record.h"

namespace shoal::ops {
namespace {

using SignedNumbers = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t>;

template <class T>
T negate(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(Modular<T>{0} - Modular<T>(x));
  return static_cast<T>(-x);
}

template <class T>
bool is_negative(T x) {
  return !std::is_unsigned_v<T> && x < T{0};
}

class IsInf {
 public:
  explicit IsInf(const Node& node)
      : positive_(node.integer("detect_positive", 1) != 0),
        negative_(node.integer("detect_negative", 1) != 0) {}
  template <class T>
  bool operator()(T x) const {
    return std::isinf(x) && (x > 0 ? positive_ : negative_);
  }

 private:
  bool positive_, negative_;
};

}  // namespace

SHOAL_RECORD(abs) = unary<Numbers>("Abs", []<class T>(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(x);
  return is_negative(x) ? negate(x) : x;
});
SHOAL_RECORD(acos) = unary<Floats>("Acos", [](auto x) { return std::acos(x); });
SHOAL_RECORD(acosh) = unary<Floats>("Acosh", [](auto x) { return std::acosh(x); });
SHOAL_RECORD(asin) = unary<Floats>("Asin", [](auto x) { return std::asin(x); });
SHOAL_RECORD(asinh) = unary<Floats>("Asinh", [](auto x) { return std::asinh(x); });
SHOAL_RECORD(atan) = unary<Floats>("Atan", [](auto x) { return std::atan(x); });
SHOAL_RECORD(atanh) = unary<Floats>("Atanh", [](auto x) { return std::atanh(x); });
SHOAL_RECORD(bitwise_not) = unary<Ints>("BitwiseNot",
                                        []<class T>(T x) { return static_cast<T>(~x); });
SHOAL_RECORD(ceil) = unary<Floats>("Ceil", [](auto x) { return std::ceil(x); });
SHOAL_RECORD(cos) = unary<Floats>("Cos", [](auto x) { return std::cos(x); });
SHOAL_RECORD(cosh) = unary<Floats>("Cosh", [](auto x) { return std::cosh(x); });
SHOAL_RECORD(erf) = unary<Numbers>("Erf", []<class T>(T x) { return static_cast<T>(std::erf(x)); });
SHOAL_RECORD(exp) = unary<Floats>("Exp", [](auto x) { return std::exp(x); });
SHOAL_RECORD(floor) = unary<Floats>("Floor", [](auto x) { return std::floor(x); });
SHOAL_RECORD(identity) = linear(unary<AllTypes>("Identity", [](auto x) { return x; }));
SHOAL_RECORD(is_inf) = unary<Floats, IsInf>("IsInf");
SHOAL_RECORD(is_nan) = unary<Floats>("IsNaN", [](auto x) { return std::isnan(x); });
SHOAL_RECORD(log) = unary<Floats>("Log", [](auto x) { return std::log(x); });
SHOAL_RECORD(neg) = linear(unary<SignedNumbers>("Neg", [](auto x) { return negate(x); }));
SHOAL_RECORD(not_) = unary<Types<bool>>("Not", [](bool x) { return !x; });
SHOAL_RECORD(reciprocal) = unary<Floats>("Reciprocal", [](auto x) { return 1 / x; });
// To the nearest, halves to the even: the rounding mode programs start in.
SHOAL_RECORD(round) = unary<Floats>("Round", [](auto x) { return std::nearbyint(x); });
SHOAL_RECORD(sign) = unary<Numbers>("Sign", []<class T>(T x) {
  return x > T{0} ? T{1} : is_negative(x) ? negate(T{1}) : x;  // x is 0 or NaN here
});
SHOAL_RECORD(sin) = unary<Floats>("Sin", [](auto x) { return std::sin(x); });
SHOAL_RECORD(sinh) = unary<Floats>("Sinh", [](auto x) { return std::sinh(x); });
SHOAL_RECORD(sqrt) = unary<Floats>("Sqrt", [](auto x) { return std::sqrt(x); });
SHOAL_RECORD(tan) = unary<Floats>("Tan", [](auto x) { return std::tan(x); });
SHOAL_RECORD(tanh) = unary<Floats>("Tanh", [](auto x) { return std::tanh(x); });

}  // namespace shoal::ops
