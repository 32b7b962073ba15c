#include "shoal/cpu/product/sparse.h"

#include <gtest/gtest.h>

#include "shoal/cpu/cpu.h"
#include "shoal/cpu/testing.h"
#include "shoal/ops/ops.h"

namespace shoal::cpu {
namespace {

// [n, k]; what is left out are single elements, or `block` of them below each other.
Tensor sparse_floats(std::mt19937& rng, int64_t n, int64_t k, double density, int64_t block) {
  Tensor w = random_floats(rng, {n, k});
  std::bernoulli_distribution is_there(density);
  for (int64_t j = 0; j < n; j += block) {
    for (int64_t i = 0; i < k; ++i) {
      if (is_there(rng)) continue;
      for (int64_t c = j; c < std::min(j + block, n); ++c) {
        w.data<float>()[static_cast<size_t>(c * k + i)] = 0;
      }
    }
  }
  return w;
}

Tensor transposed(const Tensor& w) {
  const int64_t n = w.shape()[0], k = w.shape()[1];
  Tensor result({DType::kF32, {k, n}});
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < k; ++i) {
      result.data<float>()[static_cast<size_t>(i * n + j)] =
          w.data<float>()[static_cast<size_t>(j * k + i)];
    }
  }
  return result;
}

// Only constants can be sparse, so the kernel's name is asked for by itself.
void expect_kernel(const Operator& op, const std::vector<Tensor>& inputs,
                   const Attributes& attributes, std::string_view kernel) {
  expect_agreement(op, inputs, attributes, {});
  Graph graph;
  std::vector<ValueId> ids{graph.add_input("x", inputs[0].type())};
  for (size_t i = 1; i < inputs.size(); ++i) ids.push_back(graph.add_constant("w", inputs[i]));
  graph.mark_output(*graph.add(op, ids, attributes));
  const auto executable = make_cpu_device({.threads = 1})->compile(graph);
  ASSERT_TRUE(executable.ok());
  EXPECT_EQ((*executable)->kernel_of(0).name, kernel);
}

TEST(Sparse, AgreesOnElementsAndBlocks) {
  std::mt19937 rng(1);
  const Attributes tb{{"transB", int64_t{1}}, {"alpha", 0.5f}};
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{200, 300}, {331, 170}}) {
    const Tensor x = random_floats(rng, {1, k}), bias = random_floats(rng, {n});
    const Tensor elements = sparse_floats(rng, n, k, 0.005, 1);
    const Tensor blocks = sparse_floats(rng, n, k, 0.1, SparseBlocks::kWidth);
    expect_kernel(ops::gemm, {x, elements, bias}, tb, "sparse");
    expect_kernel(ops::gemm, {x, blocks, bias}, tb, "block_sparse");
    expect_kernel(ops::mat_mul, {x, transposed(elements)}, {}, "sparse");
    expect_kernel(ops::mat_mul, {x, transposed(blocks)}, {}, "block_sparse");
  }
}

TEST(Sparse, AgreesWhereNothingIsThere) {
  std::mt19937 rng(2);
  const Tensor nothing({DType::kF32, {200, 300}});
  expect_kernel(ops::gemm, {random_floats(rng, {1, 300}), nothing, random_floats(rng, {200})},
                {{"transB", int64_t{1}}}, "block_sparse");
}

TEST(Sparse, LeavesDenseAndManyRowsToOthers) {
  std::mt19937 rng(3);
  const Attributes tb{{"transB", int64_t{1}}};
  const Tensor half = sparse_floats(rng, 200, 300, 0.5, 1);
  expect_kernel(ops::gemm, {random_floats(rng, {1, 300}), half}, tb, "gemv");
  const Tensor few = sparse_floats(rng, 200, 300, 0.01, 1);
  expect_kernel(ops::gemm, {random_floats(rng, {2, 300}), few}, tb, "gemm");
}

TEST(Sparse, CountsWhatIsThere) {
  std::mt19937 rng(4);
  const Tensor w = sparse_floats(rng, 320, 500, 0.25, SparseBlocks::kWidth);
  const Density density = density_of({w.data<float>().data(), 1, 500}, 500, 320);
  EXPECT_NEAR(density.elements, 0.25, 0.02);
  EXPECT_NEAR(density.blocks, 0.25, 0.02);
  const Density sampled = sampled_density_of({w.data<float>().data(), 1, 500}, 500, 320);
  EXPECT_NEAR(sampled.blocks, 0.25, 0.1);
}

}  // namespace
}  // namespace shoal::cpu
