#include <limits>

#include "shoal/ops/convert.h"
#include "shoal/ops/onnx_dtype.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/testing.h"

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
