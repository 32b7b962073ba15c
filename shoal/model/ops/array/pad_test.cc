#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Result<std::vector<Tensor>> padded(const Tensor& x, std::vector<int64_t> pads, const char* mode) {
  return evaluate(pad_, {x, ints(std::move(pads))}, {{"mode", std::string(mode)}});
}

TEST(Pad, ReflectsAsOftenAsItTakes) {
  expect_output(padded(counting({3}), {3, 6}, "reflect"),
                floats({12}, {1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1, 0}));
  expect_output(padded(counting({1}), {2, 1}, "reflect"), floats({4}, {0, 0, 0, 0}));
}

TEST(Pad, WrapsAround) {
  expect_output(padded(counting({3}), {4, 2}, "wrap"), floats({9}, {2, 0, 1, 2, 0, 1, 2, 0, 1}));
}

TEST(Pad, RepeatsEdgesInEveryDirection) {
  expect_output(padded(counting({2, 2}), {1, 0, 0, 1}, "edge"),
                floats({3, 3}, {0, 1, 1, 0, 1, 1, 2, 3, 3}));
}

TEST(Pad, RemovesBeforeItAdds) {
  expect_output(padded(counting({4}), {-1, 2}, "edge"), floats({5}, {1, 2, 3, 3, 3}));
  expect_output(padded(counting({4}), {2, -1}, "reflect"), floats({5}, {2, 1, 0, 1, 2}));
  expect_output(padded(counting({4}), {1, -4}, "constant"), floats({1}, {0}));
}

TEST(Pad, FillsWithTheValueGiven) {
  expect_output(evaluate(pad_, {counting({2}), ints({1, 1}), floats({}, {7})}),
                floats({4}, {7, 0, 1, 7}));
  expect_output(
      evaluate(pad_, {Tensor::of<bool>({1}, {false}), ints({0, 1}), Tensor::of<bool>({}, {true})}),
      Tensor::of<bool>({2}, {false, true}));
}

TEST(Pad, PadsOnlyTheAxesNamed) {
  expect_output(evaluate(pad_, {counting({1, 2}), ints({1, 0}), Tensor(), ints({-1})}),
                floats({1, 3}, {0, 0, 1}));
}

TEST(Pad, MakesSomethingOfNothingOnlyFromAConstant) {
  expect_output(padded(counting({0}), {1, 1}, "constant"), floats({2}, {0, 0}));
  expect_refused(padded(counting({0}), {1, 1}, "edge"), "nothing to repeat");
  expect_refused(padded(counting({2}), {-2, 1}, "wrap"), "nothing to repeat");
}

TEST(Pad, RefusesPadsThatMakeNoSense) {
  const Tensor x = counting({2, 3});
  expect_refused(padded(x, {1, 1}, "constant"), "2 pads for 2 axes");
  expect_refused(padded(x, {-3, 0, 0, 0}, "constant"), "more than there is");
  expect_refused(padded(x, {-2, 0, -1, 0}, "constant"), "more than there is");
  expect_refused(padded(x, {0, 0, int64_t{1} << 62, 0}, "constant"), "out of range");
  expect_refused(padded(x, {0, 0, int64_t{1} << 39, 0}, "constant"), "larger than the limit");
  expect_refused(padded(x, {std::numeric_limits<int64_t>::min(), 0, 0, 0}, "edge"), "out of range");
  expect_refused(padded(x, {1, 1, 1, 1}, "sideways"), "mode sideways");
  expect_refused(evaluate(pad_, {x, ints({0, 0, 0, 0}), ints({1})}), "element types");
  expect_refused(evaluate(pad_, {x, ints({0, 0, 0, 0}), floats({2}, {1, 2})}), "one element");
  expect_refused(evaluate(pad_, {x, ints({0, 0}), Tensor(), ints({2})}), "axis 2");
}

TEST(Tile, RefusesRepeatsThatDoNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(tile_, {x, ints({2})}), "1 repeats for rank 2");
  expect_refused(evaluate(tile_, {x, ints({-2, 1})}), "-2 times");
  expect_refused(evaluate(tile_, {x, ints({int64_t{1} << 62, int64_t{1} << 62})}), "out of range");
  expect_refused(evaluate(tile_, {x, ints({int64_t{1} << 38, 1})}), "larger than the limit");
}

TEST(Tile, RepeatsZeroTimes) {
  expect_output(evaluate(tile_, {counting({2}), ints({0})}), counting({0}));
}

TEST(Tile, RepeatsEveryAxis) {
  expect_output(evaluate(tile_, {counting({2, 1}), ints({2, 3})}),
                floats({4, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST(Expand, KeepsWhatIsLargerThanTheShape) {
  expect_output(evaluate(expand, {counting({3, 1}), ints({2, 1, 2})}),
                floats({2, 3, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  expect_output(evaluate(expand, {counting({2}), ints({1})}), counting({2}));
}

TEST(Expand, RefusesShapesThatDoNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(expand, {x, ints({2, 4})}), "do not broadcast");
  expect_refused(evaluate(expand, {x, ints({-3, 2, 3})}), "negative");
  expect_refused(evaluate(expand, {counting({1}), ints({int64_t{1} << 32, int64_t{1} << 32})}),
                 "larger than the limit");
  expect_refused(evaluate(expand, {x, ints({1, 1, 1, 1, 1, 1, 1, 1, 1})}), "more than 8");
}

}  // namespace
}  // namespace shoal::ops
