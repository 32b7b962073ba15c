#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Attributes to(DType dtype) { return {{"to", onnx_number_of(dtype)}}; }

TEST(BitCast, KeepsTheBits) {
  expect_output(evaluate(bit_cast, {floats({1}, {1})}, to(DType::kI32)),
                Tensor::of<int32_t>({1}, {0x3f800000}));
}

TEST(BitCast, MakesNoBoolThatIsNone) {
  expect_output(evaluate(bit_cast, {Tensor::of<uint8_t>({3}, {0, 1, 77})}, to(DType::kBool)),
                Tensor::of<bool>({3}, {false, true, true}));
}

TEST(BitCast, RefusesAnotherSize) {
  expect_refused(evaluate(bit_cast, {floats({1}, {1})}, to(DType::kF16)), "size");
}

}  // namespace
}  // namespace shoal::ops
