#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(MatMul, TakesVectorsAsARowAndAColumn) {
  const Tensor matrix = counting({2, 2}), vector = floats({2}, {1, 10});
  expect_output(evaluate(mat_mul, {vector, matrix}), floats({2}, {20, 31}));
  expect_output(evaluate(mat_mul, {matrix, vector}), floats({2}, {10, 32}));
  expect_output(evaluate(mat_mul, {vector, vector}), floats({}, {101}));
}

TEST(MatMul, StretchesBatchesOnBothSides) {
  expect_output(evaluate(mat_mul, {counting({2, 1, 1, 1}), counting({3, 1, 1})}),
                floats({2, 3, 1, 1}, {0, 0, 0, 0, 1, 2}));
}

TEST(MatMul, OfNothingIsZero) {
  expect_output(evaluate(mat_mul, {counting({2, 0}), counting({0, 1})}), floats({2, 1}, {0, 0}));
  expect_output(evaluate(mat_mul, {counting({0, 0}), Tensor({DType::kF32, {0, int64_t{1} << 20}})}),
                Tensor({DType::kF32, {0, int64_t{1} << 20}}));
}

TEST(MatMul, LetsIntegersWrapAround) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  expect_output(evaluate(mat_mul, {ints({lowest, 1}), ints({3, 0})}),
                Tensor::of<int64_t>({}, {lowest}));
}

TEST(MatMul, RefusesMatricesThatDoNotMultiply) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(mat_mul, {x, counting({4, 2})}), "do not multiply");
  expect_refused(evaluate(mat_mul, {x, counting({})}), "scalar");
  expect_refused(evaluate(mat_mul, {counting({2, 2, 3}), counting({5, 3, 2})}), "broadcast");
  expect_refused(evaluate(mat_mul, {x, Tensor({DType::kI64, {3, 2}})}), "element types");
  expect_refused(evaluate(mat_mul, {Tensor({DType::kBool, {1}}), Tensor({DType::kBool, {1}})}),
                 "type bool");
}

}  // namespace
}  // namespace shoal::ops
