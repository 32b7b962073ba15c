#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Tensor bytes(const Shape& shape, std::vector<uint8_t> values) {
  return Tensor::of<uint8_t>(shape, std::span<const uint8_t>(values));
}
Tensor scale(float value) { return floats({}, {value}); }
Tensor zero_point(uint8_t value) { return bytes({}, {value}); }

TEST(QuantizeLinear, RoundsHalvesToTheEvenAndSaturates) {
  const Tensor x = floats({7}, {1, 3, 5, -1000, 1000, kInfinity, kNaN});
  expect_output(evaluate(quantize_linear, {x, scale(2)}), bytes({7}, {0, 2, 2, 0, 255, 255, 0}));
  expect_output(evaluate(quantize_linear, {x, scale(2), Tensor::of<int8_t>({}, {1})}),
                Tensor::of<int8_t>({7}, {1, 3, 3, -128, 127, 127, 0}));
}

TEST(QuantizeLinear, HasOneScalePerIndexOfAnAxis) {
  const Tensor x = floats({2, 2}, {10, 10, 20, 20});
  const Tensor scales = floats({2}, {1, 10}), zeros = bytes({2}, {0, 5});
  expect_output(evaluate(quantize_linear, {x, scales, zeros}), bytes({2, 2}, {10, 6, 20, 7}));
  expect_output(evaluate(quantize_linear, {x, scales, zeros}, {{"axis", int64_t{-2}}}),
                bytes({2, 2}, {10, 10, 7, 7}));
}

TEST(QuantizeLinear, SurvivesAScaleOfZero) {
  expect_output(evaluate(quantize_linear, {floats({2}, {1, 0}), scale(0)}), bytes({2}, {255, 0}));
}

TEST(QuantizeLinear, RefusesParametersThatDoNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(quantize_linear, {x, counting({2})}), "should be a scalar or have [3]");
  expect_refused(evaluate(quantize_linear, {x, counting({3}), zero_point(0)}),
                 "the zero point has");
  expect_refused(evaluate(quantize_linear, {x, counting({3})}, {{"axis", int64_t{2}}}),
                 "out of range");
  expect_refused(evaluate(quantize_linear, {x, scale(1), scale(0)}), "type f32");
}

TEST(DequantizeLinear, UndoesIt) {
  expect_output(evaluate(dequantize_linear, {bytes({3}, {0, 128, 255}), scale(2), zero_point(128)}),
                floats({3}, {-256, 0, 254}));
}

TEST(DequantizeLinear, RoundsToTheNearest) {
  const Tensor scale = Tensor::of<BFloat16>({}, {1 + 0x1p-7f});
  expect_output(evaluate(dequantize_linear, {bytes({1}, {7}), scale}),
                Tensor::of<BFloat16>({1}, {7.0625f}));  // of 7.0546875
}

TEST(DequantizeLinear, TakesTheWidestDifferenceOfIntegers) {
  const int32_t low = std::numeric_limits<int32_t>::min(),
                high = std::numeric_limits<int32_t>::max();
  expect_output(evaluate(dequantize_linear, {Tensor::of<int32_t>({1}, {high}), scale(1),
                                             Tensor::of<int32_t>({}, {low})}),
                floats({1}, {0x1p32f}));
  expect_refused(
      evaluate(dequantize_linear, {bytes({1}, {0}), scale(1), Tensor::of<int8_t>({}, {0})}),
      "another element type");
}

TEST(DynamicQuantizeLinear, FitsTheRangeAndZero) {
  auto y = evaluate(dynamic_quantize_linear, {floats({3}, {0, -1, 254})}, {}, 3);
  expect_output(y, bytes({3}, {1, 0, 255}));
  expect_equal((*y)[1], scale(1));
  expect_equal((*y)[2], zero_point(1));
}

TEST(DynamicQuantizeLinear, OfZerosHasAnyScale) {
  auto y = evaluate(dynamic_quantize_linear, {floats({2}, {0, 0})}, {}, 2);
  expect_output(y, bytes({2}, {0, 0}));
  EXPECT_GT((*y)[1].data<float>()[0], 0);
}

TEST(MatMulInteger, TakesOffZeroPointsPerRowAndColumn) {
  const Tensor a = bytes({2, 2}, {1, 2, 3, 4}), b = Tensor::of<int8_t>({2, 2}, {1, -1, 0, 2});
  expect_output(evaluate(mat_mul_integer, {a, b}), Tensor::of<int32_t>({2, 2}, {1, 3, 3, 5}));
  expect_output(evaluate(mat_mul_integer, {a, b, bytes({2}, {1, 3})}),
                Tensor::of<int32_t>({2, 2}, {0, 2, 0, 2}));
  expect_output(evaluate(mat_mul_integer, {a, b, Tensor(), Tensor::of<int8_t>({2}, {1, 2})}),
                Tensor::of<int32_t>({2, 2}, {-2, -3, -4, -9}));
}

TEST(MatMulInteger, RefusesParametersThatDoNotFit) {
  const Tensor a = bytes({2, 3}, {1, 2, 3, 4, 5, 6}), b = bytes({3, 1}, {1, 1, 1});
  expect_refused(evaluate(mat_mul_integer, {a, a}), "do not multiply");
  expect_refused(evaluate(mat_mul_integer, {a, b, bytes({3}, {0, 0, 0})}), "does not fit");
  expect_refused(evaluate(mat_mul_integer, {a, b, bytes({1, 3}, {0, 0, 0})}), "does not fit");
  expect_refused(evaluate(mat_mul_integer, {a, b, bytes({1, 1, 1}, {0})}), "does not fit");
  expect_refused(evaluate(mat_mul_integer, {a, b, Tensor::of<int8_t>({}, {0})}), "different");
  expect_refused(evaluate(mat_mul_integer, {counting({1, 1}), b}), "type f32");
}

TEST(QLinearMatMul, ScalesBackAndSaturates) {
  const Tensor a = bytes({1, 2}, {10, 20}), b = bytes({2, 2}, {1, 100, 1, 100});
  expect_output(evaluate(q_linear_mat_mul, {a, scale(1), zero_point(0), b, floats({2}, {1, 2}),
                                            bytes({2}, {0, 0}), scale(12), zero_point(1)}),
                bytes({1, 2}, {3, 255}));  // 30 / 12 = 2.5 rounds to 2
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const Tensor x = bytes({1, 1, 3}, {2, 3, 4}), w = bytes({1, 1, 2}, {1, 1});
  expect_output(
      evaluate(conv_integer, {x, w, zero_point(1)}, {{"pads", std::vector<int64_t>{1, 1}}}),
      Tensor::of<int32_t>({1, 1, 4}, {1, 3, 5, 3}));
}

TEST(ConvInteger, RefusesAZeroPointPerSomethingElse) {
  const Tensor x = bytes({1, 1, 2}, {2, 3}), w = bytes({2, 1, 1}, {1, 1});
  expect_refused(evaluate(conv_integer, {x, w, bytes({2}, {0, 0})}), "takes one element");
  expect_refused(evaluate(conv_integer, {x, w, Tensor(), bytes({3}, {0, 0, 0})}),
                 "should be a scalar or have [2]");
}

TEST(QLinearConv, ScalesEachChannelByItsOwn) {
  const Tensor x = bytes({1, 1, 2}, {10, 21}), w = Tensor::of<int8_t>({2, 1, 1}, {1, -1});
  const std::vector<Tensor> inputs{x,
                                   scale(1),
                                   zero_point(0),
                                   w,
                                   floats({2}, {0.5f, 1}),
                                   Tensor::of<int8_t>({2}, {0, 0}),
                                   scale(1),
                                   zero_point(50)};
  expect_output(evaluate(q_linear_conv, inputs), bytes({1, 2, 2}, {55, 60, 40, 29}));
  std::vector<Tensor> biased = inputs;
  biased.push_back(Tensor::of<int32_t>({2}, {2, -100}));
  expect_output(evaluate(q_linear_conv, biased), bytes({1, 2, 2}, {56, 62, 0, 0}));
}

TEST(QLinearConv, RefusesABiasThatIsNotOnePerChannel) {
  const Tensor x = bytes({1, 1, 1}, {1}), w = bytes({1, 1, 1}, {1});
  std::vector<Tensor> inputs{x,        scale(1),      zero_point(0), w,
                             scale(1), zero_point(0), scale(1),      zero_point(0)};
  inputs.push_back(Tensor::of<int32_t>({2}, {1, 1}));
  expect_refused(evaluate(q_linear_conv, inputs), "the bias has shape [2]");
  inputs.back() = counting({1});
  expect_refused(evaluate(q_linear_conv, inputs), "type f32");
}

}  // namespace
}  // namespace shoal::ops
