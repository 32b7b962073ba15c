#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

void expect_mat_mul(const Shape& a, const Shape& b, const KernelNames& kernel) {
  std::mt19937 rng(1);
  expect_agreement(ops::mat_mul, {random_floats(rng, a), random_floats(rng, b)}, {}, kernel);
}

TEST(MatMul, AgreesOnStacks) {
  expect_mat_mul({128, 256}, {256, 200}, "gemm");
  expect_mat_mul({2, 33, 70}, {70, 90}, "gemm");
  expect_mat_mul({2, 4, 65, 32}, {2, 4, 32, 65}, "gemm");
  expect_mat_mul({3, 1, 20, 31}, {2, 31, 50}, "gemm");
  expect_mat_mul({20, 31}, {2, 3, 31, 50}, "gemm");
}

TEST(MatMul, AgreesOnVectors) {
  expect_mat_mul({300}, {300, 77}, "gemv");
  expect_mat_mul({1, 300}, {300, 1077}, "gemv");
  expect_mat_mul({5, 90, 300}, {300}, "gemv");
  expect_mat_mul({4, 1, 30}, {4, 30, 50}, "gemv");
  expect_mat_mul({40}, {40}, "gemv");
}

TEST(MatMul, GivesZerosWhereThereIsNothingToSum) {
  expect_mat_mul({3, 0}, {0, 5}, "gemm");
  expect_mat_mul({1, 0}, {0, 5}, "gemv");
  expect_mat_mul({5, 0}, {0}, "gemv");
}

TEST(FusedMatMul, AgreesWithAndWithoutWhatItAdds) {
  std::mt19937 rng(1);
  const Tensor a = random_floats(rng, {2, 33, 70}), b = random_floats(rng, {70, 90});
  const Tensor bias = random_floats(rng, {90}), residual = random_floats(rng, {2, 33, 90});
  for (const char* activation : {"", "Relu", "Gelu"}) {
    const Attributes attributes{{"activation", std::string(activation)}};
    expect_agreement(ops::fused_mat_mul, {a, b}, attributes, "gemm");
    expect_agreement(ops::fused_mat_mul, {a, b, bias}, attributes, "gemm");
    expect_agreement(ops::fused_mat_mul, {a, b, Tensor(), residual}, attributes, "gemm");
    expect_agreement(ops::fused_mat_mul, {a, b, bias, residual}, attributes, "gemm");
  }
}

TEST(FusedMatMul, AgreesOnVectors) {
  std::mt19937 rng(1);
  const Attributes gelu{{"activation", std::string("Gelu")}};
  const Tensor row = random_floats(rng, {1, 70}), b = random_floats(rng, {70, 90});
  const Tensor bias = random_floats(rng, {90}), residual = random_floats(rng, {1, 90});
  expect_agreement(ops::fused_mat_mul, {row, b, bias, residual}, gelu, "gemv");
  // The bias lies along the rows here, for the product has no columns.
  const Tensor a = random_floats(rng, {2, 90, 70}), column = random_floats(rng, {70});
  expect_agreement(ops::fused_mat_mul, {a, column, bias}, gelu, {});
  expect_agreement(ops::fused_mat_mul, {a, column, Tensor(), random_floats(rng, {2, 90})}, gelu,
                   "gemv");
}

// Where the right factors differ, every matrix of the stack finds its own part of the residual.
TEST(FusedMatMul, AgreesOnStacks) {
  std::mt19937 rng(1);
  const Tensor a = random_floats(rng, {3, 20, 31}), b = random_floats(rng, {3, 31, 50});
  expect_agreement(ops::fused_mat_mul,
                   {a, b, random_floats(rng, {50}), random_floats(rng, {3, 20, 50})}, {}, "gemm");
}

}  // namespace
}  // namespace shoal::cpu
