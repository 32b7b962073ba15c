#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(Softmax, RefusesAxisBeyondRank) {
  const Tensor x({DType::kF32, {2, 3}});
  for (const Operator* op : {&softmax, &log_softmax, &hardmax, &lp_normalization}) {
    expect_refused(evaluate(*op, {x}, {{"axis", int64_t{2}}}), "axis 2");
    expect_refused(evaluate(*op, {Tensor({DType::kF32, {}})}), "axis -1");
  }
}

TEST(Softmax, DoesNotOverflow) {
  expect_output(evaluate(softmax, {floats({2}, {1000, 1000})}), floats({2}, {0.5f, 0.5f}));
  expect_output(evaluate(log_softmax, {floats({2}, {1000, -1000})}), floats({2}, {0, -2000}));
}

TEST(Softmax, TakesEmptyLines) {
  const Tensor x({DType::kF32, {2, 0, 3}});
  for (const Operator* op : {&softmax, &log_softmax, &hardmax, &lp_normalization}) {
    expect_output(evaluate(*op, {x}, {{"axis", int64_t{1}}}), x);
  }
}

TEST(Hardmax, PicksTheFirstOfEquals) {
  expect_output(evaluate(hardmax, {floats({2, 3}, {1, 3, 3, 2, 1, 0})}),
                floats({2, 3}, {0, 1, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace shoal::ops
