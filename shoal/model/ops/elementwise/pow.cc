// Pow: y_i = x_i ^ e_i, both broadcast. The exponent has its own element type, the result that of
// the base.
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"

namespace shoal::ops {
namespace {

using Bases = Types<float, double, Half, BFloat16, int32_t, int64_t>;

Result<std::vector<TensorType>> infer_pow(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bases>(inputs[0]));
  SHOAL_TRY(require<Numbers>(inputs[1]));
  SHOAL_ASSIGN(const Shape shape, broadcast(inputs));
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

// Integer power by repeated squaring, at most 64 steps. Overflow wraps. A negative exponent gives a
// fraction, which is truncated to 0 unless x is 1 or -1; 1 / 0 gives 0, too.
template <std::integral T, std::integral E>
T power(T x, E n) {
  if constexpr (std::is_signed_v<E>) {
    if (n < 0 && x != 1 && x != -1) return 0;
    if (n < 0) return x == 1 || n % 2 == 0 ? 1 : -1;
  }
  auto square = Modular<T>(x);
  Modular<T> result = 1;
  for (; n > 0; n /= 2, square *= square) {
    if (n % 2 != 0) result *= square;
  }
  return static_cast<T>(result);
}

struct Power {
  template <class T, class E>
  T operator()(T x, E e) const {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
      return power(x, e);
    } else {
      return convert<T>(std::pow(x, e));
    }
  }
};

// The type in which exponents are computed. Twelve types are reduced to four, so that not every
// pair of types is compiled. It is double where float would lose digits of an integer or of a
// double.
DType exponent_type(DType base, DType exponent) {
  const bool small = Types<float, Half, BFloat16>::contains(exponent);
  if (Ints::contains(base)) {
    if (exponent == DType::kU64) return DType::kU64;
    return Ints::contains(exponent) ? DType::kI64 : DType::kF64;
  }
  return small && base != DType::kF64 ? DType::kF32 : DType::kF64;
}

void reference_pow(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const DType dtype = exponent_type(inputs[0].dtype(), inputs[1].dtype());
  const Tensor exponent = converted(inputs[1], dtype);
  visit<Bases>(inputs[0].dtype(), [&]<class T>() {
    visit<Types<float, double, int64_t, uint64_t>>(dtype, [&]<class E>() {
      for_each_pair<T, T, E>(inputs[0], exponent, outputs[0], Power{});
    });
  });
}

}  // namespace

SHOAL_RECORD(pow) = {.name = "Pow",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_pow,
                     .reference = reference_pow,
                     .split = split_elementwise,
                     .elementwise = {.operands = 2},
                     .in_place = true,
                     .linear_time = true,
                     .gradient = pow_gradient};

}  // namespace shoal::ops
