#include "shoal/engine/cpu/product/sparse.h"

#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/tensor/compare.h"

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

Tensor run_on(Device& device, const Graph& graph, const Tensor& x) {
  const auto executable = device.compile(graph);
  EXPECT_TRUE(executable.ok());
  std::vector<Tensor> outputs(1);
  EXPECT_TRUE((*executable)->run(std::span(&x, 1), outputs, {}).ok());
  return outputs[0];
}

TEST(Sparse, AgreesOnElementsAndBlocks) {
  std::mt19937 rng(1);
  const Attributes tb{{"transB", int64_t{1}}, {"alpha", 0.5f}};
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{40, 4000}, {131, 2170}}) {
    const Tensor x = random_floats(rng, {1, k}), bias = random_floats(rng, {n});
    const Tensor elements = sparse_floats(rng, n, k, 0.01, 1);
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

// Each kernel, at densities at which it would not be chosen, too.
TEST(Sparse, AgreesAtAnyDensity) {
  std::mt19937 rng(5);
  for (const double density : {0.0, 0.01, 0.05, 0.15, 0.3, 0.6, 1.0}) {
    for (const int64_t block : {int64_t{1}, SparseBlocks::kWidth}) {
      const Tensor x = random_floats(rng, {1, 150}), bias = random_floats(rng, {133});
      const Tensor w = sparse_floats(rng, 133, 150, density, block);
      Graph graph;
      graph.mark_output(*graph.add(
          ops::fused_gemm,
          {graph.add_input("x", x.type()), graph.add_constant("w", w),
           graph.add_constant("b", bias)},
          {{"transB", int64_t{1}}, {"alpha", 0.5f}, {"activation", std::string("Relu")}}));
      const Tensor want = run_on(*make_reference_device(), graph, x);
      for (const char* kernel : {"sparse", "block_sparse", "gemv"}) {
        SCOPED_TRACE(kernel + (" " + std::to_string(density)));
        const auto device = make_cpu_device({.threads = 2, .prefer = kernel});
        EXPECT_EQ((*device->compile(graph))->kernel_of(0).name, kernel);
        EXPECT_LE(relative_error(run_on(*device, graph, x), want), 1e-5);
      }
    }
  }
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
