#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

constexpr float kOff = -std::numeric_limits<float>::infinity();

struct Sizes {
  int64_t batch, heads, queries, keys, depth, width;
};

std::vector<Tensor> random_inputs(std::mt19937& rng, const Sizes& n) {
  return {random_floats(rng, {n.batch, n.heads, n.queries, n.depth}),
          random_floats(rng, {n.batch, n.heads, n.keys, n.depth}),
          random_floats(rng, {n.batch, n.heads, n.keys, n.width})};
}

// Past the edges of blocks of queries and of parts of the keys.
TEST(Attention, AgreesOnLongAndShortSequences) {
  std::mt19937 rng(1);
  for (const Sizes& sizes : {Sizes{1, 1, 1, 1, 1, 1},
                             {2, 3, 17, 13, 5, 7},
                             {1, 2, 128, 128, 32, 32},
                             {1, 1, 129, 241, 16, 48},
                             {1, 1, 70, 723, 33, 20},
                             {2, 1, 3, 0, 4, 5}}) {
    expect_agreement(ops::attention, random_inputs(rng, sizes), {{"scale", -1.5f}}, "gemm");
  }
}

TEST(Attention, ReadsAndWritesHeadsAfterTokens) {
  std::mt19937 rng(1);
  const std::vector<Tensor> inputs{random_floats(rng, {2, 65, 3, 32}),
                                   random_floats(rng, {2, 250, 3, 32}),
                                   random_floats(rng, {2, 250, 3, 20})};
  expect_agreement(ops::attention, inputs, {{"tokens_first", int64_t{1}}}, "gemm");
}

TEST(Attention, AgreesWithMasksOfEveryShape) {
  std::mt19937 rng(2);
  const Sizes sizes{2, 3, 11, 250, 8, 9};
  for (const Shape& shape :
       {Shape{}, {250}, {11, 1}, {11, 250}, {3, 11, 250}, {2, 1, 1, 250}, {2, 3, 11, 250}}) {
    std::vector<Tensor> inputs = random_inputs(rng, sizes);
    inputs.push_back(random_floats(rng, shape));
    expect_agreement(ops::attention, inputs, {}, "gemm");
  }
}

// Whole parts of the keys may be off before the first one counts.
TEST(Attention, LooksOnlyWhereTheMaskLetsIt) {
  std::mt19937 rng(3);
  const Sizes sizes{1, 2, 4, 700, 8, 9};
  for (const int64_t seen : {0, 239, 240, 500, 699}) {
    Tensor mask({DType::kF32, {700}});
    for (int64_t i = 0; i < 700; ++i) mask.data<float>()[static_cast<size_t>(i)] = kOff;
    mask.data<float>()[static_cast<size_t>(seen)] = 0;
    std::vector<Tensor> inputs = random_inputs(rng, sizes);
    inputs.push_back(mask);
    expect_agreement(ops::attention, inputs, {}, "gemm");
  }
}

TEST(Attention, IsExactWhereScoresAreLarge) {
  std::mt19937 rng(4);
  expect_agreement(ops::attention, random_inputs(rng, {1, 1, 20, 600, 16, 16}), {{"scale", 60.0f}},
                   "gemm", 1e-4f);
}

}  // namespace
}  // namespace shoal::cpu
