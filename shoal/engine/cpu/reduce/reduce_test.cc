#include <gtest/gtest.h>

#include "shoal/engine/cpu/cpu_testing.h"
#include "shoal/model/ops/ops.h"

namespace shoal::cpu {
namespace {

// Axes that go: rows, columns, both, between others, of length 1, none.
const std::pair<Shape, std::vector<int64_t>> kCases[] = {
    {{64, 500}, {0}},       {{64, 500}, {1}},   {{30, 70}, {0, 1}}, {{5, 33, 130}, {1}},
    {{3, 4, 5, 6}, {1, 2}}, {{9, 1, 65}, {1}},  {{1, 7, 1}, {0}},   {{}, {}},
    {{2, 3, 40'000}, {2}},  {{40'000, 2}, {0}}, {{4, 6}, {-2}},     {{2, 1, 3, 1, 4}, {1, 2, 3}}};

TEST(Reduce, Agrees) {
  std::mt19937 rng(1);
  for (const auto& [shape, axes] : kCases) {
    SCOPED_TRACE(to_string(shape));
    const Tensor x = random_floats(rng, shape);
    const Tensor list = Tensor::of<int64_t>({std::ssize(axes)}, axes);
    for (const int64_t keeps : {0, 1}) {
      expect_agreement(ops::reduce_sum, {x, list},
                       {{"keepdims", keeps}, {"noop_with_empty_axes", int64_t{1}}}, "lines", 1e-5f);
      expect_agreement(ops::reduce_mean, {x}, {{"axes", axes}, {"keepdims", keeps}}, "lines",
                       1e-5f);
    }
  }
}

TEST(Reduce, LeavesToOthersWhatItCannotDo) {
  std::mt19937 rng(1);
  const Attributes around = {{"axes", std::vector<int64_t>{0, 2}}};
  expect_agreement(ops::reduce_mean, {random_floats(rng, {3, 4, 5})}, around, "reference");
  const Attributes last = {{"axes", std::vector<int64_t>{1}}};
  expect_agreement(ops::reduce_mean, {random_bytes(rng, DType::kI8, {3, 4})}, last, "reference");
}

}  // namespace
}  // namespace shoal::cpu
