// Element-wise mathematics of one input: y_i = f(x_i). Arguments outside the domain give NaN, as
// IEEE 754 has it. Gradients are in gradient_unary.cc, activations in activation.cc.
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {
namespace {

using SignedNumbers = Types<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t>;

// The smallest integer stays what it is: negation wraps.
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

SHOAL_RECORD(abs) =
    differentiable(finite(unary<Numbers>("Abs",
                                         []<class T>(T x) {
                                           if constexpr (std::is_floating_point_v<T>)
                                             return std::abs(x);
                                           return is_negative(x) ? negate(x) : x;
                                         })),
                   abs_gradient);
SHOAL_RECORD(acos) = differentiable(unary<Floats>("Acos", [](auto x) { return std::acos(x); }),
                                    acos_gradient);
SHOAL_RECORD(acosh) = differentiable(unary<Floats>("Acosh", [](auto x) { return std::acosh(x); }),
                                     acosh_gradient);
SHOAL_RECORD(asin) = differentiable(unary<Floats>("Asin", [](auto x) { return std::asin(x); }),
                                    asin_gradient);
SHOAL_RECORD(asinh) = differentiable(finite(unary<Floats>("Asinh",
                                                          [](auto x) { return std::asinh(x); })),
                                     asinh_gradient);
SHOAL_RECORD(atan) = differentiable(finite(unary<Floats>("Atan",
                                                         [](auto x) { return std::atan(x); })),
                                    atan_gradient);
SHOAL_RECORD(atanh) = differentiable(unary<Floats>("Atanh", [](auto x) { return std::atanh(x); }),
                                     atanh_gradient);
SHOAL_RECORD(bitwise_not) = unary<Ints>("BitwiseNot",
                                        []<class T>(T x) { return static_cast<T>(~x); });
SHOAL_RECORD(ceil) = differentiable(finite(unary<Floats>("Ceil",
                                                         [](auto x) { return std::ceil(x); })),
                                    step_gradient);
SHOAL_RECORD(cos) = differentiable(finite(unary<Floats>("Cos", [](auto x) { return std::cos(x); })),
                                   cos_gradient);
SHOAL_RECORD(cosh) = differentiable(unary<Floats>("Cosh", [](auto x) { return std::cosh(x); }),
                                    cosh_gradient);
SHOAL_RECORD(erf) = differentiable(
    finite(unary<Numbers>("Erf", []<class T>(T x) { return static_cast<T>(std::erf(x)); })),
    erf_gradient);
SHOAL_RECORD(exp) = differentiable(unary<Floats>("Exp", [](auto x) { return std::exp(x); }),
                                   exp_gradient);
SHOAL_RECORD(floor) = differentiable(finite(unary<Floats>("Floor",
                                                          [](auto x) { return std::floor(x); })),
                                     step_gradient);
SHOAL_RECORD(identity) = differentiable(linear(unary<AllTypes>("Identity",
                                                               [](auto x) { return x; })),
                                        identity_gradient);
SHOAL_RECORD(is_inf) = unary<Floats, IsInf>("IsInf");
SHOAL_RECORD(is_nan) = unary<Floats>("IsNaN", [](auto x) { return std::isnan(x); });
SHOAL_RECORD(log) = differentiable(unary<Floats>("Log", [](auto x) { return std::log(x); }),
                                   log_gradient);
SHOAL_RECORD(neg) = differentiable(
    finite(linear(unary<SignedNumbers>("Neg", [](auto x) { return negate(x); }))), neg_gradient);
SHOAL_RECORD(not_) = unary<Types<bool>>("Not", [](bool x) { return !x; });
SHOAL_RECORD(reciprocal) = differentiable(unary<Floats>("Reciprocal", [](auto x) { return 1 / x; }),
                                          reciprocal_gradient);
// Rounds halves to even, which is the default rounding mode of a program.
SHOAL_RECORD(round) = differentiable(
    finite(unary<Floats>("Round", [](auto x) { return std::nearbyint(x); })), step_gradient);
SHOAL_RECORD(sign) = differentiable(finite(unary<Numbers>("Sign",
                                                          []<class T>(T x) {
                                                            return x > T{0} ? T{1}
                                                                   : is_negative(x)
                                                                       ? negate(T{1})
                                                                       : x;  // x is 0 or NaN here
                                                          })),
                                    step_gradient);
SHOAL_RECORD(sin) = differentiable(finite(unary<Floats>("Sin", [](auto x) { return std::sin(x); })),
                                   sin_gradient);
SHOAL_RECORD(sinh) = differentiable(unary<Floats>("Sinh", [](auto x) { return std::sinh(x); }),
                                    sinh_gradient);
SHOAL_RECORD(sqrt) = differentiable(unary<Floats>("Sqrt", [](auto x) { return std::sqrt(x); }),
                                    sqrt_gradient);
SHOAL_RECORD(tan) = differentiable(unary<Floats>("Tan", [](auto x) { return std::tan(x); }),
                                   tan_gradient);
SHOAL_RECORD(tanh) = differentiable(finite(unary<Floats>("Tanh",
                                                         [](auto x) { return std::tanh(x); })),
                                    tanh_gradient);

}  // namespace shoal::ops
