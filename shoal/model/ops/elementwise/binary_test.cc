#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

TEST(Arithmetic, WrapsAroundInIntegers) {
  expect_output(evaluate(add, {ints({kHighest}), ints({1})}), ints({kLowest}));
  expect_output(evaluate(sub, {ints({kLowest}), ints({1})}), ints({kHighest}));
  expect_output(evaluate(mul, {ints({kHighest}), ints({2})}), ints({-2}));
  // Promoted to int, the square of the largest uint16 would overflow.
  const Tensor x = Tensor::of<uint16_t>({1}, {65535});
  expect_output(evaluate(mul, {x, x}), Tensor::of<uint16_t>({1}, {1}));
}

TEST(Arithmetic, StretchesBothInputs) {
  expect_output(evaluate(sub, {floats({2, 1}, {10, 20}), floats({3}, {1, 2, 3})}),
                floats({2, 3}, {9, 8, 7, 19, 18, 17}));
}

TEST(Arithmetic, RefusesShapesAndTypesThatDoNotMatch) {
  expect_refused(evaluate(add, {counting({2}), counting({3})}), "do not broadcast");
  expect_refused(evaluate(add, {counting({2}), ints({1, 2})}), "different element types");
}

TEST(Div, TruncatesAndGivesZeroForADivisionByZero) {
  expect_output(evaluate(div, {ints({-7, 7, 5}), ints({2, -2, 0})}), ints({-3, -3, 0}));
}

TEST(Div, SurvivesTheQuotientThatDoesNotFit) {
  expect_output(evaluate(div, {ints({kLowest}), ints({-1})}), ints({kLowest}));
}

TEST(Mod, HasTheSignOfTheDivisor) {
  expect_output(evaluate(mod, {ints({-4, 7, 5, 4, -7, 8}), ints({2, -3, 8, -2, 3, 5})}),
                ints({0, -2, 5, 0, 2, 3}));
}

TEST(Mod, HasTheSignOfTheDividendWithFmod) {
  const Attributes fmod{{"fmod", int64_t{1}}};
  expect_output(evaluate(mod, {ints({-7, 7}), ints({3, -3})}, fmod), ints({-1, 1}));
  expect_output(evaluate(mod, {floats({1}, {-4.5f}), floats({1}, {2})}, fmod),
                floats({1}, {-0.5f}));
}

TEST(Mod, GivesZeroWhereTheLanguageGivesNothing) {
  expect_output(evaluate(mod, {ints({5, kLowest}), ints({0, -1})}), ints({0, 0}));
}

TEST(Mod, RefusesFloatsWithoutFmod) {
  expect_refused(evaluate(mod, {counting({1}), counting({1})}), "fmod must be 1");
}

TEST(BitShift, ShiftsEverythingOutBeyondTheWidth) {
  const Tensor x = Tensor::of<uint8_t>({3}, {0x81, 0x81, 0x81});
  const Tensor by = Tensor::of<uint8_t>({3}, {1, 8, 200});
  expect_output(evaluate(bit_shift, {x, by}, {{"direction", std::string("LEFT")}}),
                Tensor::of<uint8_t>({3}, {2, 0, 0}));
  expect_output(evaluate(bit_shift, {x, by}, {{"direction", std::string("RIGHT")}}),
                Tensor::of<uint8_t>({3}, {0x40, 0, 0}));
}

TEST(BitShift, RefusesAnUnknownDirectionAndSignedElements) {
  const Tensor x = Tensor::of<uint8_t>({1}, {1});
  expect_refused(evaluate(bit_shift, {x, x}), "direction is ''");
  expect_refused(evaluate(bit_shift, {x, x}, {{"direction", std::string("UP")}}), "direction");
  expect_refused(evaluate(bit_shift, {ints({1}), ints({1})}), "type i64");
}

TEST(PRelu, RefusesASlopeThatWouldStretchTheInput) {
  expect_output(evaluate(prelu, {floats({2}, {-2, 3}), floats({}, {0.5f})}), floats({2}, {-1, 3}));
  expect_refused(evaluate(prelu, {counting({2}), counting({3, 2})}), "does not broadcast to [2]");
}

TEST(Comparisons, AreFalseForNaN) {
  const Tensor nan = floats({1}, {std::numeric_limits<float>::quiet_NaN()});
  for (const Operator* op : {&equal, &less, &less_or_equal, &greater, &greater_or_equal}) {
    expect_output(evaluate(*op, {nan, nan}), Tensor::of<bool>({1}, {false}));
  }
}

TEST(Comparisons, GiveBoolsOfTheBroadcastShape) {
  expect_output(evaluate(less, {ints({1, 2}), Tensor::of<int64_t>({2, 1}, {1, 2})}),
                Tensor::of<bool>({2, 2}, {false, false, true, false}));
}

TEST(Pow, WrapsAroundInIntegersAndCutsFractionsOff) {
  expect_output(evaluate(pow, {ints({3, 2, 2, -1, 1, 0}), ints({4, 64, -1, -3, -9, -1})}),
                ints({81, 0, 0, -1, 1, 0}));
}

TEST(Pow, TakesEveryUnsignedExponent) {
  const uint64_t top = std::numeric_limits<uint64_t>::max();
  expect_output(
      evaluate(pow, {ints({3, -1, 2}), Tensor::of<uint64_t>({3}, {1ull << 63, top, top})}),
      ints({1, -1, 0}));
}

TEST(Pow, TakesAnExponentOfAnotherType) {
  expect_output(evaluate(pow, {floats({2}, {2, 3}), ints({10, 2})}), floats({2}, {1024, 9}));
  expect_output(evaluate(pow, {ints({4, 10}), floats({2}, {0.5f, 100})}), ints({2, kHighest}));
  expect_refused(evaluate(pow, {floats({1}, {2}), Tensor::of<bool>({1}, {true})}), "type bool");
}

}  // namespace
}  // namespace shoal::ops
