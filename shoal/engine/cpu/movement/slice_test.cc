#include <gtest/gtest.h>

#include <limits>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

struct Case {
  Shape shape;
  std::vector<int64_t> starts, ends, axes, steps;
};

constexpr int64_t kLast = std::numeric_limits<int64_t>::max();

TEST(Slice, Agrees) {
  const Case cases[] = {{{6, 2, 32, 32, 16}, {0, 1}, {kLast, kLast}, {2, 3}, {2, 2}},
                        {{6, 9}, {-1}, {-kLast}, {1}, {-1}},
                        {{6, 9}, {4, 8}, {0, 1}, {0, 1}, {-2, -3}},
                        {{5, 7, 3}, {2}, {3}, {1}, {1}},
                        {{50'000}, {3}, {49'999}, {0}, {2}},
                        {{4}, {1}, {kLast}, {0}, {kLast}}};
  std::mt19937 rng(1);
  for (const auto& [shape, starts, ends, axes, steps] : cases) {
    SCOPED_TRACE(to_string(shape));
    std::vector<Tensor> inputs{random_floats(rng, shape)};
    for (const auto* list : {&starts, &ends, &axes, &steps}) {
      inputs.push_back(Tensor::of<int64_t>({std::ssize(*list)}, *list));
    }
    expect_agreement(ops::slice, inputs, {}, "runs", 0);
  }
}

TEST(Slice, TakesNothing) {
  std::mt19937 rng(1);
  const Tensor two = Tensor::of<int64_t>({1}, {2});
  expect_agreement(ops::slice, {random_floats(rng, {4, 4}), two, two}, {}, "reference", 0);
}

}  // namespace
}  // namespace shoal::cpu
