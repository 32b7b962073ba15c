#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

Result<std::vector<Tensor>> cut(const Tensor& x, int64_t start, int64_t end, int64_t step) {
  return evaluate(slice, {x, ints({start}), ints({end}), ints({0}), ints({step})});
}

TEST(Slice, GoesBackwardsToTheFirstElement) {
  expect_output(cut(counting({5}), -1, kLowest, -2), floats({3}, {4, 2, 0}));
}

TEST(Slice, StopsAtTheEndsOfTheAxis) {
  expect_output(cut(counting({4}), kLowest, kHighest, 1), counting({4}));
  expect_output(cut(counting({4}), kHighest, kLowest, -1), floats({4}, {3, 2, 1, 0}));
  expect_output(cut(counting({4}), kHighest, kHighest, 1), counting({0}));
}

TEST(Slice, TakesOneElementByTheLargestSteps) {
  expect_output(cut(counting({4}), 1, kHighest, kHighest), floats({1}, {1}));
  expect_output(cut(counting({4}), 2, kLowest, kLowest), floats({1}, {2}));
}

TEST(Slice, OfAnEmptyAxisIsEmpty) {
  expect_output(cut(counting({0, 3}), 0, 1, 1), counting({0, 3}));
  expect_output(cut(counting({0, 3}), -1, kLowest, -1), counting({0, 3}));
}

TEST(Slice, TakesBoundsOf32Bits) {
  const Tensor one = Tensor::of<int32_t>({1}, {1}), three = Tensor::of<int32_t>({1}, {3});
  expect_output(evaluate(slice, {counting({4}), one, three}), floats({2}, {1, 2}));
}

TEST(Slice, RefusesBoundsThatMakeNoSense) {
  const Tensor x = counting({2, 3});
  expect_refused(cut(x, 0, 1, 0), "step is 0");
  expect_refused(evaluate(slice, {x, ints({0}), ints({1, 1})}), "length");
  expect_refused(evaluate(slice, {x, ints({0}), ints({1}), ints({2})}), "axis 2");
  expect_refused(evaluate(slice, {x, ints({0, 0}), ints({1, 1}), ints({0, -2})}), "twice");
  expect_refused(evaluate(slice, {x, ints({0, 0, 0}), ints({1, 1, 1})}), "axis 2");
}

}  // namespace
}  // namespace shoal::ops
