#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

TEST(Gather, Agrees) {
  std::mt19937 rng(1);
  // Long slices, slices of one element, and one slice of everything; indices from both ends.
  const std::pair<Shape, int64_t> cases[] = {
      {{50, 64}, 0}, {{300, 9}, 1}, {{9, 1, 24, 11, 11}, 0}, {{2, 9, 5}, -2}, {{2, 1, 70000}, 1}};
  for (const auto& [shape, axis] : cases) {
    SCOPED_TRACE(to_string(shape));
    for (const Tensor& x : {random_floats(rng, shape), random_bytes(rng, DType::kU8, shape)}) {
      expect_agreement(ops::gather, {x, Tensor::of<int64_t>({3}, {0, -1, 0})}, {{"axis", axis}},
                       "rows", 0);
      expect_agreement(ops::gather, {x, Tensor::of<int32_t>({}, {-1})}, {{"axis", axis}}, "rows",
                       0);
    }
  }
}

TEST(Gather, TakesNothing) {
  std::mt19937 rng(1);
  expect_agreement(ops::gather, {random_floats(rng, {4, 4}), Tensor::of<int64_t>({0}, {})}, {},
                   "reference", 0);
}

TEST(Reshape, Agrees) {
  std::mt19937 rng(1);
  const Tensor x = random_floats(rng, {3, 70, 500});
  expect_agreement(ops::flatten, {x}, {{"axis", int64_t{2}}}, "copy", 0);
  expect_agreement(ops::reshape, {x, Tensor::of<int64_t>({2}, {-1, 7})}, {}, "copy", 0);
  expect_agreement(ops::unsqueeze, {x, Tensor::of<int64_t>({1}, {1})}, {}, "copy", 0);
  expect_agreement(ops::squeeze, {random_floats(rng, {3, 1, 0})}, {}, "copy", 0);
}

}  // namespace
}  // namespace shoal::cpu
