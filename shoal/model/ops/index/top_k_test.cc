// Operators that choose or order elements: TopK, Compress, NonZero, Unique, ReverseSequence.
#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(TopK, PutsTheLowerIndexFirstAmongEquals) {
  const auto top = evaluate(top_k, {floats({4}, {1, 2, 2, 1}), ints({3})}, {}, 2);
  ASSERT_TRUE(top.ok());
  expect_equal((*top)[0], floats({3}, {2, 2, 1}));
  expect_equal((*top)[1], ints({1, 2, 0}));
}

TEST(TopK, TakesNanAsTheLargest) {
  const auto top = evaluate(top_k, {floats({3}, {1, kNan, 2}), ints({2})}, {}, 2);
  ASSERT_TRUE(top.ok());
  expect_equal((*top)[1], ints({1, 2}));
}

TEST(TopK, MayGiveTheValuesAlone) {
  expect_output(evaluate(top_k, {floats({3}, {1, 3, 2}), ints({1})}, {{"largest", int64_t{0}}}),
                floats({1}, {1}));
}

TEST(TopK, RefusesACountThatDoesNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(top_k, {x, ints({-1})}, {}, 2), "k is -1");
  expect_refused(evaluate(top_k, {x, ints({4})}, {}, 2), "k is 4");
  expect_refused(evaluate(top_k, {x, ints({1, 2})}, {}, 2), "one element");
  expect_refused(evaluate(top_k, {x, ints({1})}, {{"axis", int64_t{2}}}, 2), "axis 2");
}

TEST(Compress, LeavesOutWhatTheConditionDoesNotReach) {
  expect_output(evaluate(compress, {counting({2, 2}), Tensor::of<bool>({3}, {false, true, true})}),
                floats({2}, {1, 2}));
}

TEST(Compress, RefusesConditionsThatDoNotFit) {
  const Tensor x = counting({2, 2});
  const Tensor third = Tensor::of<bool>({3}, {false, false, true});
  expect_refused(evaluate(compress, {x, third}, {{"axis", int64_t{0}}}), "element 2 of 2");
  expect_refused(evaluate(compress, {x, ints({1})}), "type i64");
  expect_refused(evaluate(compress, {x, Tensor({DType::kBool, {1, 1}})}), "rank");
  expect_refused(evaluate(compress, {x, third}, {{"axis", int64_t{2}}}), "axis 2");
}

TEST(NonZero, GivesOneColumnPerElement) {
  expect_output(evaluate(non_zero, {floats({2, 2}, {0, -0.0f, kNan, 3})}),
                Tensor::of<int64_t>({2, 2}, {1, 1, 0, 1}));
}

TEST(NonZero, GivesAScalarNoRows) {
  expect_output(evaluate(non_zero, {floats({}, {3})}), Tensor({DType::kI64, {0, 1}}));
}

TEST(Unique, TakesAllNansAsOneAndSortsThemLast) {
  const auto groups = evaluate(unique, {floats({5}, {kNan, 1, kNan, 0, -0.0f})}, {}, 4);
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ((*groups)[0].shape(), Shape{3});
  EXPECT_TRUE(std::isnan((*groups)[0].data<float>()[2]));
  expect_equal((*groups)[1], ints({3, 1, 0}));
  expect_equal((*groups)[2], ints({2, 1, 2, 0, 0}));
  expect_equal((*groups)[3], ints({2, 1, 2}));
}

TEST(Unique, KeepsTheOrderOfOccurrenceWhereAsked) {
  const auto groups = evaluate(unique, {ints({7, 3, 7, 5, 3})}, {{"sorted", int64_t{0}}}, 3);
  ASSERT_TRUE(groups.ok());
  expect_equal((*groups)[0], ints({7, 3, 5}));
  expect_equal((*groups)[2], ints({0, 1, 0, 2, 1}));
}

TEST(Unique, TakesSlicesWithoutElementsAsOne) {
  const Attributes rows{{"axis", int64_t{0}}};
  const auto groups = evaluate(unique, {counting({3, 0})}, rows, 4);
  expect_output(groups, counting({1, 0}));
  expect_equal((*groups)[1], ints({0}));
  expect_equal((*groups)[2], ints({0, 0, 0}));
  expect_equal((*groups)[3], ints({3}));
  expect_output(evaluate(unique, {counting({0, 3})}, rows), counting({0, 3}));
  const Tensor many({DType::kF32, {int64_t{1} << 40, 0}});
  expect_output(evaluate(unique, {many}, rows), counting({1, 0}));
  expect_output(evaluate(unique, {many}), counting({0}));
}

TEST(ReverseSequence, TakesLengthsOutOfRangeAsTheNearest) {
  expect_output(evaluate(reverse_sequence, {counting({2, 3}), ints({-5, 9})},
                         {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}}),
                floats({2, 3}, {0, 1, 2, 5, 4, 3}));
}

TEST(ReverseSequence, RefusesAxesAndLengthsThatDoNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(reverse_sequence, {x, ints({1, 1})}), "lengths");
  expect_refused(evaluate(reverse_sequence, {x, ints({1, 1, 1})}, {{"time_axis", int64_t{1}}}),
                 "time_axis");
  expect_refused(evaluate(reverse_sequence, {x, ints({1, 1})}, {{"batch_axis", int64_t{-1}}}),
                 "batch_axis");
  expect_refused(evaluate(reverse_sequence, {counting({2}), ints({1, 1})}), "batch axis");
}

TEST(DepthToSpace, RefusesBlocksThatDoNotFit) {
  const Tensor x = counting({1, 4, 2, 2});
  expect_refused(evaluate(depth_to_space, {x}), "blocksize is missing");
  expect_refused(evaluate(depth_to_space, {x}, {{"blocksize", int64_t{0}}}), "out of range");
  expect_refused(evaluate(depth_to_space, {x}, {{"blocksize", int64_t{1} << 62}}), "out of range");
  expect_refused(evaluate(depth_to_space, {x}, {{"blocksize", int64_t{3}}}), "do not fill");
  expect_refused(
      evaluate(depth_to_space, {x}, {{"blocksize", int64_t{2}}, {"mode", std::string("RCD")}}),
      "mode RCD");
  expect_refused(evaluate(depth_to_space, {counting({4, 2, 2})}, {{"blocksize", int64_t{2}}}),
                 "rank 3");
}

TEST(SpaceToDepth, RefusesBlocksThatDoNotFit) {
  const Tensor x = counting({1, 1, 2, 2});
  expect_refused(evaluate(space_to_depth, {x}, {{"blocksize", int64_t{-2}}}), "out of range");
  expect_refused(evaluate(space_to_depth, {x}, {{"blocksize", int64_t{3}}}), "blocks of side 3");
  const Tensor wide({DType::kF32, {0, int64_t{1} << 40, 1024, 0}});
  expect_refused(evaluate(space_to_depth, {wide}, {{"blocksize", int64_t{1024}}}), "channels");
}

}  // namespace
}  // namespace shoal::ops
