#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

TEST(Pad, Agrees) {
  std::mt19937 rng(1);
  const std::pair<Shape, std::vector<int64_t>> cases[] = {
      {{3, 5, 7, 1}, {0, 0, 0, 0, 0, 0, 0, 1}},  // single elements set apart
      {{2, 9, 6, 8}, {0, -3, 0, 0, 0, 2, 0, 0}},
      {{2, 3, 5, 7}, {1, 0, 2, 3, 0, 4, -1, -2}},
      {{40000}, {-7, -20}},
      {{6, 1, 4}, {-2, 0, 0, -1, 0, 0}},
      {{5, 4}, {-3, 0, 5, 0}},
      {{4, 4}, {0, 0, 0, 0}}};
  for (const auto& [shape, pads] : cases) {
    const Tensor list = Tensor::of<int64_t>({std::ssize(pads)}, pads);
    expect_agreement(ops::pad_, {random_floats(rng, shape), list}, {}, "runs", 0);
    const Tensor value = random_floats(rng, {});
    expect_agreement(ops::pad_, {random_floats(rng, shape), list, value}, {}, "runs", 0);
  }
}

TEST(Pad, KeepsNothing) {
  std::mt19937 rng(1);
  const Tensor pads = Tensor::of<int64_t>({4}, {-4, 0, 3, 0});
  expect_agreement(ops::pad_, {random_floats(rng, {4, 4}), pads}, {}, {}, 0);
}

}  // namespace
}  // namespace shoal::cpu
