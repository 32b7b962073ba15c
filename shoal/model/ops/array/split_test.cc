#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(Split, GivesTheLastPartWhatIsLeft) {
  const auto parts = evaluate(split_, {counting({7})}, {{"num_outputs", int64_t{3}}}, 3);
  ASSERT_TRUE(parts.ok());
  expect_equal((*parts)[0], floats({3}, {0, 1, 2}));
  expect_equal((*parts)[2], floats({1}, {6}));
}

TEST(Split, MayGiveEmptyParts) {
  const auto parts = evaluate(split_, {counting({2}), ints({0, 2})}, {}, 2);
  ASSERT_TRUE(parts.ok());
  expect_equal((*parts)[0], counting({0}));
  expect_equal((*parts)[1], counting({2}));
}

TEST(Split, RefusesSizesThatDoNotFit) {
  const Tensor x = counting({4});
  expect_refused(evaluate(split_, {x, ints({1, 1})}, {}, 2), "add up");
  expect_refused(evaluate(split_, {x, ints({-1, 5})}, {}, 2), "negative");
  expect_refused(evaluate(split_, {x, ints({1, 1, 2})}, {}, 2), "3 sizes for 2 outputs");
  expect_refused(evaluate(split_, {x}, {}, 3), "equal parts");
  expect_refused(evaluate(split_, {x}, {{"num_outputs", int64_t{2}}}, 3), "num_outputs");
  expect_refused(evaluate(split_, {counting({5})}, {{"num_outputs", int64_t{4}}}, 4), "4 equal");
  expect_refused(evaluate(split_, {x}, {{"axis", int64_t{1}}}, 2), "axis 1");
}

TEST(Concat, TakesMoreInputsThanAWordHasBits) {
  expect_output(evaluate(concat, std::vector<Tensor>(40, counting({1})), {{"axis", int64_t{0}}}),
                Tensor({DType::kF32, {40}}));
}

TEST(Concat, RefusesInputsThatDoNotFit) {
  const Tensor x = counting({2, 3});
  const Attributes axis_0 = {{"axis", int64_t{0}}};
  expect_refused(evaluate(concat, {x, counting({3})}, axis_0), "differ");
  expect_refused(evaluate(concat, {x, counting({2, 4})}, axis_0), "differ");
  expect_refused(evaluate(concat, {x, Tensor({DType::kI64, {2, 3}})}, axis_0), "element types");
  expect_refused(evaluate(concat, {x, Tensor(), x}, axis_0), "input 1 is missing");
  expect_refused(evaluate(concat, {x, x}), "axis is missing");
  expect_refused(evaluate(concat, {x, x}, {{"axis", int64_t{2}}}), "axis 2");
}

}  // namespace
}  // namespace shoal::ops
