#include "shoal/model/ops/elementwise/cast.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Result<std::vector<Tensor>> cast_to(DType dtype, const Tensor& x) {
  return evaluate(cast, {x}, {{"to", onnx_number_of(dtype)}});
}

TEST(Cast, CutsOffFractionsAndSaturates) {
  const Tensor x = floats({6}, {-1.9f, 1.9f, 300, -300, kInfinity, kNaN});
  expect_output(cast_to(DType::kI8, x), Tensor::of<int8_t>({6}, {-1, 1, 127, -128, 127, 0}));
  expect_output(cast_to(DType::kU8, x), Tensor::of<uint8_t>({6}, {0, 1, 255, 0, 255, 0}));
}

TEST(Cast, SaturatesAtTheEndsOf64Bits) {
  const Tensor x = Tensor::of<double>({4}, {0x1p63, -0x1p63, 1e300, -1e300});
  const int64_t low = std::numeric_limits<int64_t>::min(),
                high = std::numeric_limits<int64_t>::max();
  expect_output(cast_to(DType::kI64, x), Tensor::of<int64_t>({4}, {high, low, high, low}));
  expect_output(cast_to(DType::kU64, Tensor::of<double>({2}, {0x1p64, -1})),
                Tensor::of<uint64_t>({2}, {std::numeric_limits<uint64_t>::max(), 0}));
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  expect_output(cast_to(DType::kI8, ints({200, -200, 5})), Tensor::of<int8_t>({3}, {-56, 56, 5}));
}

TEST(Cast, TakesWhateverIsNotZeroForTrue) {
  expect_output(cast_to(DType::kBool, floats({4}, {0, -0.0f, 0.1f, kNaN})),
                Tensor::of<bool>({4}, {false, false, true, true}));
  expect_output(cast_to(DType::kF16, Tensor::of<bool>({2}, {true, false})),
                Tensor::of<Half>({2}, {Half(1), Half(0)}));
}

// The law of rounding to nearest, by what neighbours are there: the two bfloat16 around a float are
// its upper half, which is next to it towards zero, and the one after that. The latter may be
// infinite; it is as far away as if there were one more exponent.
float nearest_bfloat16(float x) {
  const uint32_t below = std::bit_cast<uint32_t>(x) & 0xffff0000u;
  const double low = double{std::bit_cast<float>(below)};
  const float next = std::bit_cast<float>(below + 0x10000u);
  const double high = std::isinf(next) ? std::copysign(0x1p128, low) : double{next};
  const double to_low = std::abs(double{x} - low), to_high = std::abs(high - double{x});
  const bool even = (below & 0x10000u) == 0;
  return to_low < to_high || (to_low == to_high && even) ? std::bit_cast<float>(below) : next;
}

TEST(Cast, RoundsToTheNearestBFloat16IfAskedTo) {
  Tensor x({DType::kF32, {100'000}}), want(x.type());
  std::mt19937 rng(1);
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    // Of all sizes; half of them at ties or next to them.
    auto bits = static_cast<uint32_t>(rng());
    if (i % 2 == 0) bits = (bits & 0xffff0000u) | (0x7fffu + static_cast<uint32_t>(rng() % 3));
    const float element = std::bit_cast<float>(bits);
    x.data<float>()[i] = std::isfinite(element) ? element : 0;
    want.data<float>()[i] = nearest_bfloat16(x.data<float>()[i]);
  }
  const auto narrow = evaluate(
      cast, {x}, {{"to", onnx_number_of(DType::kBF16)}, {kRoundMode, std::string(kNearest)}});
  ASSERT_TRUE(narrow.ok());
  const auto wide = cast_to(DType::kF32, (*narrow)[0]);
  ASSERT_TRUE(wide.ok());
  EXPECT_TRUE(std::ranges::equal((*wide)[0].data<float>(), want.data<float>()));
}

// Of all sizes, and next to ties, where the nearest float is the tie itself.
TEST(Cast, RoundsADoubleOnce) {
  const Tensor x = Tensor::of<double>(
      {8}, {1 + 0x1p-11 + 0x1p-40, -1 - 0x1p-11 - 0x1p-40, 1 + 0x1p-11, 1 + 0x3p-11 - 0x1p-40,
            65520 - 0x1p-30, 65520, 0x1p-25 + 0x1p-60, 1e300});
  const auto y = cast_to(DType::kF16, x);
  expect_output(y, Tensor::of<Half>({8}, {1 + 0x1p-10f, -1 - 0x1p-10f, 1, 1 + 0x1p-10f, 65504.0f,
                                          kInfinity, 0x1p-24f, kInfinity}));
  expect_output(cast_to(DType::kBF16, Tensor::of<double>({2}, {1 - 0x1p-40, 0x1p-149})),
                Tensor::of<BFloat16>({2}, {1 - 0x1p-8f, 0}));  // truncated
  expect_equal(
      converted(Tensor::of<double>({3}, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8, 1e300}), DType::kBF16),
      Tensor::of<BFloat16>({3}, {1 + 0x1p-7f, 1, kInfinity}));
}

TEST(Cast, KeepsWhatIsNoNumberAndWhatIsInfinite) {
  const Tensor x = floats({3}, {kNaN, kInfinity, -kInfinity});
  for (const char* mode : {"", kNearest}) {
    const auto y = evaluate(
        cast, {x}, {{"to", onnx_number_of(DType::kBF16)}, {kRoundMode, std::string(mode)}});
    const auto elements = (*y)[0].data<BFloat16>();
    EXPECT_TRUE(std::isnan(float{elements[0]}));
    EXPECT_EQ(float{elements[1]}, kInfinity);
    EXPECT_EQ(float{elements[2]}, -kInfinity);
  }
}

TEST(Cast, RefusesTypesItDoesNotKnow) {
  const Tensor x = counting({1});
  expect_refused(evaluate(cast, {x}), "attribute to is missing");
  expect_refused(evaluate(cast, {x}, {{"to", int64_t{8}}}), "element type 8");
  expect_refused(evaluate(cast, {x}, {{"to", int64_t{-1}}}), "element type -1");
}

TEST(Cast, GoesFromEveryTypeToEveryOther) {
  for (size_t from = 0; from < kDTypeCount; ++from) {
    const Tensor x = converted(floats({2}, {0, 1}), static_cast<DType>(from));
    for (size_t to = 0; to < kDTypeCount; ++to) {
      auto y = cast_to(static_cast<DType>(to), x);
      ASSERT_TRUE(y.ok());
      expect_equal(converted((*y)[0], DType::kF32), floats({2}, {0, 1}));
    }
  }
}

TEST(OnnxNumbers, GoThereAndBack) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_of_onnx(onnx_number_of(dtype)), dtype);
  }
  EXPECT_FALSE(dtype_of_onnx(0));
}

}  // namespace
}  // namespace shoal::ops
