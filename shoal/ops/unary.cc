// Element-wise mathematics of one input: y_i = f(x_i). Activations are in activation.cc.
#include <cmath>

#include "shoal/ops/convert.h"
#include "shoal/ops/elementwise.h"
#include "shoal/ops/ops.h"

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

const Operator abs = unary<Numbers>("Abs", []<class T>(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(x);
  return is_negative(x) ? negate(x) : x;
});
const Operator acos = unary<Floats>("Acos", [](auto x) { return std::acos(x); });
const Operator acosh = unary<Floats>("Acosh", [](auto x) { return std::acosh(x); });
const Operator asin = unary<Floats>("Asin", [](auto x) { return std::asin(x); });
const Operator asinh = unary<Floats>("Asinh", [](auto x) { return std::asinh(x); });
const Operator atan = unary<Floats>("Atan", [](auto x) { return std::atan(x); });
const Operator atanh = unary<Floats>("Atanh", [](auto x) { return std::atanh(x); });
const Operator bitwise_not =
    unary<Ints>("BitwiseNot", []<class T>(T x) { return static_cast<T>(~x); });
const Operator ceil = unary<Floats>("Ceil", [](auto x) { return std::ceil(x); });
const Operator cos = unary<Floats>("Cos", [](auto x) { return std::cos(x); });
const Operator cosh = unary<Floats>("Cosh", [](auto x) { return std::cosh(x); });
const Operator erf =
    unary<Numbers>("Erf", []<class T>(T x) { return static_cast<T>(std::erf(x)); });
const Operator exp = unary<Floats>("Exp", [](auto x) { return std::exp(x); });
const Operator floor = unary<Floats>("Floor", [](auto x) { return std::floor(x); });
const Operator identity = linear(unary<AllTypes>("Identity", [](auto x) { return x; }));
const Operator is_inf = unary<Floats, IsInf>("IsInf");
const Operator is_nan = unary<Floats>("IsNaN", [](auto x) { return std::isnan(x); });
const Operator log = unary<Floats>("Log", [](auto x) { return std::log(x); });
const Operator neg = linear(unary<SignedNumbers>("Neg", [](auto x) { return negate(x); }));
const Operator not_ = unary<Types<bool>>("Not", [](bool x) { return !x; });
const Operator reciprocal = unary<Floats>("Reciprocal", [](auto x) { return 1 / x; });
// To the nearest, halves to the even: the rounding mode programs start in.
const Operator round = unary<Floats>("Round", [](auto x) { return std::nearbyint(x); });
const Operator sign = unary<Numbers>("Sign", []<class T>(T x) {
  return x > T{0} ? T{1} : is_negative(x) ? negate(T{1}) : x;  // x is 0 or NaN here
});
const Operator sin = unary<Floats>("Sin", [](auto x) { return std::sin(x); });
const Operator sinh = unary<Floats>("Sinh", [](auto x) { return std::sinh(x); });
const Operator sqrt = unary<Floats>("Sqrt", [](auto x) { return std::sqrt(x); });
const Operator tan = unary<Floats>("Tan", [](auto x) { return std::tan(x); });
const Operator tanh = unary<Floats>("Tanh", [](auto x) { return std::tanh(x); });

}  // namespace shoal::ops
