// Element-wise arithmetic on two inputs that broadcast: y_i = f(a_i, b_i). ONNX leaves integer
// overflow and integer division by zero open. Here integers wrap, and a division by zero gives 0:
// both are undefined in C++, and a model must not be able to end the process.
#include <cmath>
#include <limits>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {
namespace {

// Integers are divided towards zero, as in C++.
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
        return static_cast<T>(Modular<T>{0} - Modular<T>(a));  // the quotient may not fit
      }
    }
    return static_cast<T>(a / b);
  }
};

// The remainder has the sign of the divisor, as in Python, or with `fmod` that of the dividend, as
// in C. A divisor of -1 is answered apart: x % -1 traps for the smallest integer.
class Mod {
 public:
  static Status check(const Node& node, std::span<const Operand> inputs) {
    if (node.integer("fmod", 0) == 0 && Floats::contains(inputs[0].type.dtype)) {
      return invalid("fmod must be 1 for floating-point elements");
    }
    return {};
  }
  explicit Mod(const Node& node) : fmod_(node.integer("fmod", 0) != 0) {}
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
      const auto rest = static_cast<T>(a % b);
      const bool other_side = rest != 0 && (rest < T{0}) != (b < T{0});
      return !fmod_ && other_side ? static_cast<T>(rest + b) : rest;
    } else {
      return std::fmod(a, b);
    }
  }

 private:
  bool fmod_;
};

// Shifting by the width of the type or more is undefined in C++; here it shifts out every bit.
class BitShift {
 public:
  static Status check(const Node& node, std::span<const Operand>) {
    const std::string direction = node.text("direction", "");
    if (direction == "LEFT" || direction == "RIGHT") return {};
    return invalid("direction is '" + direction + "', should be LEFT or RIGHT");
  }
  explicit BitShift(const Node& node) : left_(node.text("direction", "") == "LEFT") {}
  template <class T>
  T operator()(T a, T b) const {
    if (b >= std::numeric_limits<T>::digits) return 0;
    return static_cast<T>(left_ ? Modular<T>(a) << b : Modular<T>(a) >> b);
  }

 private:
  bool left_;
};

// PRelu: y = x < 0 ? slope * x : x. The slope broadcasts to x, never the other way round.
struct PRelu {
  static Status check(const Node&, std::span<const Operand> inputs) {
    SHOAL_ASSIGN(const Shape shape, broadcast(inputs));
    if (shape == inputs[0].type.shape) return {};
    return invalid("slope " + to_string(inputs[1].type.shape) + " does not broadcast to " +
                   to_string(inputs[0].type.shape));
  }
  template <class T>
  T operator()(T x, T slope) const {
    // NaN compares false and is passed through.
    if (std::is_unsigned_v<T> || !(x < T{0})) return x;
    return static_cast<T>(Modular<T>(x) * Modular<T>(slope));
  }
};

}  // namespace

SHOAL_RECORD(add) = differentiable(finite(binary<Numbers>("Add",
                                                          []<class T>(T a, T b) {
                                                            return static_cast<T>(Modular<T>(a) +
                                                                                  Modular<T>(b));
                                                          })),
                                   add_gradient);
SHOAL_RECORD(bit_shift) = binary<UnsignedInts, BitShift>("BitShift");
// Linear in input 0, in exact arithmetic. Integer division is not, but plans only ever split sums
// of floats.
SHOAL_RECORD(div) = differentiable(linear(binary<Numbers, Div>("Div")), div_gradient);
SHOAL_RECORD(mod) = binary<Numbers, Mod>("Mod");
SHOAL_RECORD(mul) = differentiable(
    finite(linear(binary<Numbers>(
        "Mul", []<class T>(T a, T b) { return static_cast<T>(Modular<T>(a) * Modular<T>(b)); }))),
    mul_gradient);
SHOAL_RECORD(prelu) = differentiable(finite(binary<Numbers, PRelu>("PRelu")), prelu_gradient);
SHOAL_RECORD(sub) = differentiable(finite(binary<Numbers>("Sub",
                                                          []<class T>(T a, T b) {
                                                            return static_cast<T>(Modular<T>(a) -
                                                                                  Modular<T>(b));
                                                          })),
                                   sub_gradient);

}  // namespace shoal::ops
