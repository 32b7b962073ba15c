// Sums along a line, diagonals, triangles and determinants.
#include <limits>

#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

Tensor scalar(int64_t value) { return Tensor::of<int64_t>({}, {value}); }

TEST(CumSum, SumsFromEitherEndWithOrWithoutTheElement) {
  const Tensor x = floats({3}, {1, 2, 3});
  const Attributes exclusive{{"exclusive", int64_t{1}}}, reverse{{"reverse", int64_t{1}}};
  expect_output(evaluate(cum_sum, {x, scalar(0)}), floats({3}, {1, 3, 6}));
  expect_output(evaluate(cum_sum, {x, scalar(-1)}, exclusive), floats({3}, {0, 1, 3}));
  expect_output(evaluate(cum_sum, {x, scalar(0)}, reverse), floats({3}, {6, 5, 3}));
}

TEST(CumProd, MultipliesFromEitherEndWithOrWithoutTheElement) {
  const Tensor x = floats({3}, {2, 3, 4}), axis = Tensor::of<int64_t>({}, {0});
  expect_output(evaluate(cum_prod, {x, axis}), floats({3}, {2, 6, 24}));
  expect_output(evaluate(cum_prod, {x, axis}, {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}}),
                floats({3}, {12, 4, 1}));
}

TEST(CumSum, RefusesAnAxisThatIsNotThere) {
  const Tensor x = floats({1, 2}, {1, 2});
  expect_refused(evaluate(cum_sum, {x, scalar(kHighest)}), "out of range");
  expect_refused(evaluate(cum_sum, {x, scalar(kLowest)}), "out of range");
}

TEST(CumSum, LetsIntegersWrapAround) {
  expect_output(evaluate(cum_sum, {ints({kHighest, 1}), scalar(0)}), ints({kHighest, kLowest}));
}

TEST(CumSum, RefusesAScalar) {
  expect_refused(evaluate(cum_sum, {floats({}, {1}), scalar(0)}), "out of range");
}

TEST(EyeLike, PutsOnesOnAnyDiagonal) {
  const Tensor x = counting({2, 3});
  expect_output(evaluate(eye_like, {x}, {{"k", int64_t{1}}}), floats({2, 3}, {0, 1, 0, 0, 0, 1}));
  expect_output(evaluate(eye_like, {x}, {{"k", int64_t{-1}}}), floats({2, 3}, {0, 0, 0, 1, 0, 0}));
  for (int64_t outside : {kLowest, kHighest, int64_t{3}, int64_t{-2}}) {
    expect_output(evaluate(eye_like, {x}, {{"k", outside}}), Tensor({DType::kF32, {2, 3}}));
  }
}

TEST(EyeLike, GivesTheTypeAskedFor) {
  expect_output(evaluate(eye_like, {counting({1, 1})}, {{"dtype", onnx_number_of(DType::kBool)}}),
                Tensor::of<bool>({1, 1}, {true}));
  expect_refused(evaluate(eye_like, {counting({2})}), "rank");
}

TEST(Trilu, KeepsEitherTriangleOfEveryMatrix) {
  const Tensor x = floats({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_output(evaluate(trilu, {x}), floats({2, 2, 2}, {1, 2, 0, 4, 5, 6, 0, 8}));
  expect_output(evaluate(trilu, {x, scalar(-1)}, {{"upper", int64_t{0}}}),
                floats({2, 2, 2}, {0, 0, 3, 0, 0, 0, 7, 0}));
  expect_output(evaluate(trilu, {x, scalar(kLowest)}), x);
  expect_output(evaluate(trilu, {x, scalar(kHighest)}), Tensor({DType::kF32, {2, 2, 2}}));
}

TEST(Trilu, RefusesAVector) { expect_refused(evaluate(trilu, {counting({2})}), "matrices"); }

TEST(Det, PivotsAndCountsTheSwaps) {
  expect_output(evaluate(det, {floats({3, 2, 2}, {0, 1, 1, 0, 1, 2, 3, 4, 1, 2, 2, 4})}),
                floats({3}, {-1, -2, 0}));
}

TEST(Det, RoundsToTheNearest) {
  const float a = 1 + 11 * 0x1p-7f;
  expect_output(evaluate(det, {Tensor::of<BFloat16>({2, 2}, {a, 0, 0, a})}),
                Tensor::of<BFloat16>({}, {1 + 23 * 0x1p-7f}));  // of 1 + 22.95 * 2^-7
}

TEST(Det, OfAnEmptyMatrixIsOne) {
  expect_output(evaluate(det, {counting({0, 0})}), floats({}, {1}));
}

TEST(Det, RefusesMatricesThatAreNotSquare) {
  expect_refused(evaluate(det, {counting({2, 3})}), "square");
  expect_refused(evaluate(det, {counting({2})}), "square");
}

}  // namespace
}  // namespace shoal::ops
