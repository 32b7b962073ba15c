#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

Result<std::vector<Tensor>> sum(const char* equation, std::vector<Tensor> inputs) {
  return evaluate(einsum, std::move(inputs), {{"equation", std::string(equation)}});
}

TEST(Einsum, TakesDiagonalsAndTraces) {
  expect_output(sum("ii->i", {counting({2, 2})}), floats({2}, {0, 3}));
  expect_output(sum("ii", {counting({2, 2})}), floats({}, {3}));
}

TEST(Einsum, SortsTheLettersOfAnImplicitOutput) {
  expect_output(sum("ba", {counting({2, 3})}), floats({3, 2}, {0, 3, 1, 4, 2, 5}));
  expect_output(sum("aB,B", {counting({2, 2}), floats({2}, {1, 1})}), floats({2}, {1, 5}));
}

TEST(Einsum, StretchesAxesUnderAnEllipsis) {
  expect_output(sum("...i, ...i -> ...", {counting({2, 1, 2}), floats({3, 2}, {1, 0, 0, 1, 1, 1})}),
                floats({2, 3}, {0, 1, 1, 2, 3, 5}));
}

TEST(Einsum, SumsOverAnEllipsisThatTheOutputLacks) {
  expect_output(sum("...i->i", {counting({2, 2})}), floats({2}, {2, 4}));
}

TEST(Einsum, MultipliesThree) {
  const Tensor x = counting({2, 2});
  expect_output(sum("ij,jk,kl->il", {x, x, x}), floats({2, 2}, {6, 11, 22, 39}));
}

TEST(Einsum, OfNothingIsZero) {
  expect_output(sum("ij,jk->ik", {counting({2, 0}), counting({0, 2})}),
                floats({2, 2}, {0, 0, 0, 0}));
}

TEST(Einsum, MultipliesScalars) {
  expect_output(sum(",->", {floats({}, {2}), floats({}, {3})}), floats({}, {6}));
}

TEST(Einsum, LetsIntegersWrapAround) {
  const int16_t lowest = std::numeric_limits<int16_t>::min();
  expect_output(
      sum("i,i->", {Tensor::of<int16_t>({1}, {lowest}), Tensor::of<int16_t>({1}, {lowest})}),
      Tensor::of<int16_t>({}, {0}));
}

TEST(Einsum, HasMoreIndicesThanATensorHasAxes) {
  const Tensor x = counting({1, 1, 1, 2});
  expect_output(sum("abcd,efgh,ijkl->dhl", {x, x, x}), floats({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(Einsum, RefusesEquationsThatMakeNoSense) {
  const Tensor x = counting({2, 3}), y = counting({3, 4});
  expect_refused(sum("", {x, y}), "for 1 inputs");
  expect_refused(sum("ij->ij", {x, y}), "for 1 inputs");
  expect_refused(sum("i!,j?->ij", {x, y}), "does not fit");
  expect_refused(sum("i!j,jk->ik", {x, y}), "term \"i!j\"");
  expect_refused(sum("ijk,jk->i", {x, y}), "does not fit");
  expect_refused(sum("ij,jk->iz", {x, y}), "in no input");
  expect_refused(sum("ij,jk->ii", {x, y}), "twice");
  expect_refused(sum("ij->jk->ik", {x}), "term \"jk->ik\"");
  expect_refused(sum("i.j,jk->ik", {x, y}), "term \"i.j\"");
  expect_refused(sum("i......j,jk->ik", {x, y}), "term \"i......j\"");
  expect_refused(sum("ij,jk->ik", {x, x}), "size 3 and 2");
  expect_refused(sum("ij,kl->ijkl", {x, Tensor({DType::kI64, {3, 4}})}), "element types");
}

TEST(Einsum, RefusesMoreStepsThanCanBeCounted) {
  const Tensor x = counting({256});
  expect_refused(sum("a,b,c,d,e,f,g,h->", std::vector<Tensor>(8, x)), "too many");
  expect_refused(sum("a,b,c,d,e,f->abcdef", std::vector<Tensor>(6, x)), "larger than the limit");
}

}  // namespace
}  // namespace shoal::ops
