#include "draws.h"
#include "shoal/model/ops/ops.h"

namespace shoal::laws {
namespace {

const DTypes kF32 = {DType::kF32};
const DTypes kBool = {DType::kBool};
const DTypes kFloats = Domain::floats();
const DTypes kInts = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
const DTypes kUnsigned = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
const DTypes kNumbers = Domain::numbers();

Draw unary(Domain domain = {}, Attributes attributes = {}) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    return {{random_tensor(rng, random_dtype(rng, domain.dtypes), shape, domain)}, attributes};
  };
}

Draw binary(Domain domain = {}, Attributes attributes = {}) {
  return [=](Rng& rng) -> Case {
    Shape a = random_shape(rng, 0, 4);
    Shape b = shrunk(rng, a);
    if (toss(rng)) std::swap(a, b);
    const DType dtype = random_dtype(rng, domain.dtypes);
    return {{random_tensor(rng, dtype, a, domain), random_tensor(rng, dtype, b, domain)},
            attributes};
  };
}

// The second input stretches to the first, not the other way.
Draw with_slope(Domain domain) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    const DType dtype = random_dtype(rng, domain.dtypes);
    return {{random_tensor(rng, dtype, shape, domain),
             random_tensor(rng, dtype, shrunk(rng, shape), domain)}};
  };
}

// Two of one shape.
Draw twins(Domain domain) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    const DType dtype = random_dtype(rng, domain.dtypes);
    Tensor first = random_tensor(rng, dtype, shape, domain);
    Tensor second = random_tensor(rng, dtype, shape, domain);
    return {{std::move(first), std::move(second)}};
  };
}

std::vector<Source> mathematics() {
  const Domain unit{kFloats, -0.9f, 0.9f}, positive{kFloats, 0.1f, 5};
  const Domain numbers{kNumbers, -40, 40}, ints{kInts, -100, 100};
  return {{&ops::abs, unary(numbers)},
          {&ops::acos, unary(unit)},
          {&ops::acosh, unary({kFloats, 1.1f, 5})},
          {&ops::asin, unary(unit)},
          {&ops::asinh, unary()},
          {&ops::atan, unary()},
          {&ops::atanh, unary(unit)},
          {&ops::bitwise_not, unary(ints)},
          {&ops::ceil, unary()},
          {&ops::cos, unary()},
          {&ops::cosh, unary()},
          {&ops::erf, unary({kNumbers})},
          {&ops::exp, unary()},
          {&ops::floor, unary()},
          {&ops::identity, unary({kF32})},
          {&ops::is_inf, unary()},
          {&ops::is_nan, unary()},
          {&ops::log, unary(positive)},
          {&ops::neg, unary({kF32})},
          {&ops::not_, unary({kBool})},
          {&ops::reciprocal, unary(positive)},
          {&ops::round, unary()},
          {&ops::sign, unary(numbers)},
          {&ops::sin, unary()},
          {&ops::sinh, unary()},
          {&ops::sqrt, unary(positive)},
          {&ops::tan, unary(unit)},
          {&ops::tanh, unary()}};
}

std::vector<Source> activations() {
  const Domain exact{{DType::kF32, DType::kF64}, -3, 3};  // 16 bits are too few for an expansion
  return {{&ops::celu, unary({}, {{"alpha", 0.7f}})},
          {&ops::elu, unary({}, {{"alpha", 0.7f}})},
          {&ops::gelu, unary(exact)},
          {&ops::gelu, unary(exact, {{"approximate", std::string("tanh")}})},
          {&ops::hard_sigmoid, unary({}, {{"alpha", 0.4f}, {"beta", 0.3f}})},
          {&ops::hard_swish, unary({kFloats, -5, 5})},
          {&ops::leaky_relu, unary({}, {{"alpha", 0.3f}})},
          {&ops::mish, unary(exact)},
          {&ops::relu, unary({kNumbers, -40, 40})},
          {&ops::selu, unary()},
          {&ops::shrink, unary({kNumbers, -4, 4}, {{"lambd", 1.5f}, {"bias", 0.5f}})},
          {&ops::sigmoid, unary()},
          {&ops::softplus, unary()},
          {&ops::softsign, unary()},
          {&ops::swish, unary(exact)},
          {&ops::swish, unary(exact, {{"alpha", 1.7f}})},
          {&ops::thresholded_relu, unary({}, {{"alpha", 0.5f}})}};
}

std::vector<Source> pairs() {
  const Domain numbers{kNumbers, -40, 40}, ints{kInts, -100, 100}, bits{kUnsigned, 0, 40};
  const Attributes left{{"direction", std::string("LEFT")}};
  return {{&ops::add, binary(numbers)},
          {&ops::and_, binary({kBool})},
          {&ops::bit_shift, binary(bits, left)},
          {&ops::bitwise_and, binary(ints)},
          {&ops::bitwise_or, binary(ints)},
          {&ops::bitwise_xor, binary(ints)},
          {&ops::div, binary({kF32, 0.5f, 2})},
          {&ops::equal, binary({kNumbers, -3, 3})},
          {&ops::greater, binary(numbers)},
          {&ops::greater_or_equal, binary({kNumbers, -3, 3})},
          {&ops::less, binary(numbers)},
          {&ops::less_or_equal, binary({kNumbers, -3, 3})},
          {&ops::mod, binary(ints)},
          {&ops::mod, binary(numbers, {{"fmod", int64_t{1}}})},
          {&ops::mul, binary({kF32})},
          {&ops::or_, binary({kBool})},
          {&ops::prelu, with_slope(numbers)},
          {&ops::relu_backward, twins({kFloats, -3, 3})},
          {&ops::sub, binary(numbers)},
          {&ops::xor_, binary({kBool})}};
}

}  // namespace

std::vector<Source> elementwise_cases() {
  std::vector<Source> all;
  for (const auto& part : {mathematics(), activations(), pairs()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace shoal::laws
