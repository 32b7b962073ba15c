#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

TEST(Transpose, AgreesInEveryOrderOfTheAxes) {
  std::mt19937 rng(1);
  for (const Shape& shape :
       {Shape{5}, {70, 33}, {512, 39}, {3, 66, 5}, {2, 3, 7, 9}, {1, 8, 1, 40, 3}}) {
    std::vector<int64_t> perm(shape.rank());
    std::iota(perm.begin(), perm.end(), 0);
    const Tensor x = random_floats(rng, shape);
    do {
      expect_agreement(ops::transpose, {x}, {{"perm", perm}}, "blocks", 0);
    } while (std::ranges::next_permutation(perm).found);
    expect_agreement(ops::transpose, {x}, {}, "blocks", 0);
  }
}

TEST(Transpose, AgreesOnImages) {
  std::mt19937 rng(2);
  expect_agreement(ops::transpose, {random_floats(rng, {2, 31, 40, 37})},
                   {{"perm", std::vector<int64_t>{0, 2, 3, 1}}}, "blocks", 0);
  expect_agreement(ops::transpose, {random_floats(rng, {2, 40, 37, 31})},
                   {{"perm", std::vector<int64_t>{0, 3, 1, 2}}}, "blocks", 0);
}

}  // namespace
}  // namespace shoal::cpu
