#include "laws.h"
#include "shoal/ops/convert.h"
#include "shoal/ops/ops.h"

namespace shoal::laws {
namespace {

using Draw = std::function<Case(Rng&)>;
using DTypes = std::vector<DType>;

const DTypes kF32 = {DType::kF32};
const DTypes kBool = {DType::kBool};
const DTypes kFloats = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
const DTypes kInts = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
const DTypes kUnsigned = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
const DTypes kNumbers = {DType::kF32, DType::kF64, DType::kF16, DType::kI8,
                         DType::kU8,  DType::kI32, DType::kI64};

// Where an element is drawn from. Integers are what remains when the fraction is cut off.
struct Domain {
  DTypes dtypes = kFloats;
  float low = -2;
  float high = 2;
};

DType random_dtype(Rng& rng, const DTypes& dtypes) {
  return dtypes[static_cast<size_t>(random_int(rng, 0, static_cast<int64_t>(dtypes.size()) - 1))];
}

Draw unary(Domain domain = {}, Attributes attributes = {}) {
  return [=](Rng& rng) -> Case {
    const Tensor x = random_tensor(rng, random_shape(rng, 0, 4), domain.low, domain.high);
    return {{ops::converted(x, random_dtype(rng, domain.dtypes))}, attributes};
  };
}

// `shape` with some axes set to 1 or left out at the front.
Shape shrunk(Rng& rng, const Shape& shape) {
  Shape small;
  const auto rank = static_cast<int64_t>(shape.rank());
  for (auto d = static_cast<size_t>(random_int(rng, 0, rank)); d < shape.rank(); ++d) {
    small.push_back(random_int(rng, 0, 1) != 0 ? shape[d] : 1);
  }
  return small;
}

Draw binary(Domain domain = {}, Attributes attributes = {}) {
  return [=](Rng& rng) -> Case {
    Shape a = random_shape(rng, 0, 4);
    Shape b = shrunk(rng, a);
    if (random_int(rng, 0, 1) != 0) std::swap(a, b);
    const DType dtype = random_dtype(rng, domain.dtypes);
    return {{ops::converted(random_tensor(rng, a, domain.low, domain.high), dtype),
             ops::converted(random_tensor(rng, b, domain.low, domain.high), dtype)},
            attributes};
  };
}

// The second input stretches to the first, not the other way.
Draw with_slope(Domain domain) {
  return [=](Rng& rng) -> Case {
    const Shape shape = random_shape(rng, 0, 4);
    const DType dtype = random_dtype(rng, domain.dtypes);
    return {{ops::converted(random_tensor(rng, shape, domain.low, domain.high), dtype),
             ops::converted(random_tensor(rng, shrunk(rng, shape)), dtype)}};
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
