// Our own quantised operators.
#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Tensor bytes(const Shape& shape, std::vector<uint8_t> values) {
  return Tensor::of<uint8_t>(shape, std::span<const uint8_t>(values));
}
Tensor scale(float value) { return floats({}, {value}); }
Tensor zero_point(uint8_t value) { return bytes({}, {value}); }

TEST(QLinearAdd, AddsInTheScaleOfTheSumAndClamps) {
  const std::vector<Tensor> inputs{bytes({3}, {10, 20, 255}),
                                   scale(1),
                                   zero_point(10),
                                   bytes({1}, {6}),
                                   scale(2),
                                   zero_point(1),
                                   scale(4),
                                   zero_point(100)};
  // (0 + 10) / 4 = 2.5 rounds to 2.
  expect_output(evaluate(q_linear_add, inputs), bytes({3}, {102, 105, 164}));
  expect_output(evaluate(q_linear_add, inputs, {{"low", int64_t{103}}, {"high", int64_t{150}}}),
                bytes({3}, {103, 105, 150}));
}

TEST(QLinearAdd, RefusesOtherTypesAndRanges) {
  const Tensor x = bytes({1}, {1}), signed_zero = Tensor::of<int8_t>({}, {0});
  std::vector<Tensor> inputs{x,        scale(1),      zero_point(0), x,
                             scale(1), zero_point(0), scale(1),      zero_point(0)};
  expect_refused(evaluate(q_linear_add, inputs, {{"low", int64_t{-1}}}), "no range of u8");
  expect_refused(evaluate(q_linear_add, inputs, {{"low", int64_t{2}}, {"high", int64_t{1}}}),
                 "no range of u8");
  inputs[5] = signed_zero;
  expect_refused(evaluate(q_linear_add, inputs), "of type i8, should be u8");
  inputs[3] = Tensor::of<int8_t>({1}, {1});
  expect_refused(evaluate(q_linear_add, inputs), "different element types");
}

TEST(QLinearGlobalAveragePool, RoundsOnce) {
  const Tensor x = bytes({1, 2, 2, 2}, {1, 2, 3, 4, 10, 10, 10, 11});
  expect_output(evaluate(q_linear_global_average_pool,
                         {x, scale(1), zero_point(0), scale(0.5f), zero_point(1)}),
                bytes({1, 2, 1, 1}, {6, 21}));  // 2.5 / 0.5 + 1; 10.25 / 0.5 = 20.5, to the even
}

TEST(QLinearGlobalAveragePool, AddsUpMoreThan32BitsHold) {
  Tensor x({DType::kU8, {1, 1, 2903, 2903}});
  std::ranges::fill(x.data<uint8_t>(), uint8_t{255});
  expect_output(
      evaluate(q_linear_global_average_pool, {x, scale(1), zero_point(0), scale(1), zero_point(0)}),
      bytes({1, 1, 1, 1}, {255}));
}

TEST(QLinearGlobalAveragePool, RefusesImagesWithoutPixels) {
  expect_refused(evaluate(q_linear_global_average_pool,
                          {bytes({1, 1, 0}, {}), scale(1), zero_point(0), scale(1), zero_point(0)}),
                 "the average of nothing");
}

std::vector<Tensor> gemm_inputs() {
  return {bytes({1, 2}, {11, 12}),
          scale(1),
          zero_point(10),
          Tensor::of<int8_t>({2, 2}, {1, 2, 3, 4}),
          floats({2}, {1, 0.5f}),
          Tensor::of<int8_t>({}, {0}),
          Tensor::of<int32_t>({2}, {0, 1})};
}

TEST(QGemm, GivesRealNumbersWithoutAScale) {
  expect_output(evaluate(q_gemm, gemm_inputs()), floats({1, 2}, {7, 5.5f}));
  expect_output(evaluate(q_gemm, gemm_inputs(), {{"transB", int64_t{1}}}), floats({1, 2}, {5, 6}));
}

TEST(QGemm, QuantizesAndClamps) {
  std::vector<Tensor> inputs = gemm_inputs();
  inputs.insert(inputs.end(), {scale(2), zero_point(1)});
  expect_output(evaluate(q_gemm, inputs, {{"low", int64_t{4}}}), bytes({1, 2}, {5, 4}));
}

TEST(QGemm, RefusesWhatDoesNotFit) {
  std::vector<Tensor> inputs = gemm_inputs();
  inputs.push_back(scale(2));
  expect_refused(evaluate(q_gemm, inputs), "only one is given");
  inputs = gemm_inputs();
  inputs[4] = floats({3}, {1, 1, 1});
  expect_refused(evaluate(q_gemm, inputs), "should be a scalar or have [2]");
  inputs[0] = bytes({1, 3}, {1, 2, 3});
  expect_refused(evaluate(q_gemm, inputs), "do not multiply");
}

TEST(FusedQLinearConv, AddsTheResidualBeforeItClamps) {
  std::vector<Tensor> inputs{bytes({1, 1, 2}, {10, 20}),
                             scale(1),
                             zero_point(0),
                             Tensor::of<int8_t>({1, 1, 1}, {2}),
                             scale(0.5f),
                             Tensor::of<int8_t>({}, {0}),
                             scale(1),
                             zero_point(5)};
  expect_output(evaluate(fused_q_linear_conv, inputs, {{"high", int64_t{20}}}),
                bytes({1, 1, 2}, {15, 20}));
  inputs.insert(inputs.end(), {Tensor(), bytes({1, 1, 2}, {1, 0}), scale(30), zero_point(1),
                               scale(2), zero_point(3)});
  expect_output(evaluate(fused_q_linear_conv, inputs, {{"low", int64_t{4}}}),
                bytes({1, 1, 2}, {8, 4}));  // 10 + 0, 20 - 30
  inputs.pop_back();
  expect_refused(evaluate(fused_q_linear_conv, inputs), "comes with its parameters");
}

TEST(Lookup, TakesTheByteOfANegativeNumber) {
  Tensor table({DType::kU8, {256}});
  for (size_t i = 0; i < 256; ++i) table.data<uint8_t>()[i] = static_cast<uint8_t>(255 - i);
  expect_output(evaluate(lookup, {Tensor::of<int8_t>({3}, {0, -1, 127}), table}),
                bytes({3}, {255, 0, 128}));
  expect_refused(evaluate(lookup, {bytes({1}, {0}), bytes({1}, {0})}), "should have [256]");
}

}  // namespace
}  // namespace shoal::ops
