#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

// Runs a node whose indices infer did not see.
Tensor run_unseen(const Operator& op, std::vector<Tensor> inputs) {
  Graph graph;
  std::vector<ValueId> ids;
  for (const Tensor& input : inputs) ids.push_back(graph.add_input("x", input.type()));
  const auto output = graph.add(op, ids);
  EXPECT_TRUE(output.ok()) << output.status().message();
  std::vector<Tensor> outputs = {Tensor(graph[*output].type)};
  op.reference(graph.nodes()[0], inputs, outputs);
  return outputs[0];
}

TEST(Gather, RefusesConstantIndicesOutOfRange) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(gather, {x, ints({2})}), "index 2 is out of range");
  expect_refused(evaluate(gather, {x, ints({-3})}), "index -3");
  expect_refused(evaluate(gather, {x, ints({kLowest})}), "out of range");
  expect_refused(evaluate(gather, {counting({0, 3}), ints({0})}), "size 0");
  expect_refused(evaluate(gather, {x, floats({1}, {0})}), "type f32");
  expect_refused(evaluate(gather, {counting({}), ints({0})}), "axis 0");
  expect_refused(
      evaluate(gather, {counting({1, 1, 1, 1, 1}), Tensor({DType::kI64, {1, 1, 1, 1, 1}})}),
      "more than 8");
}

TEST(Gather, BringsIndicesIntoRangeWhenItRuns) {
  expect_equal(run_unseen(gather, {counting({3}), ints({kLowest, -4, -1, 3, kHighest})}),
               floats({5}, {0, 0, 2, 2, 2}));
}

TEST(Gather, OfNothingIsEmpty) {
  expect_output(evaluate(gather, {counting({0, 3}), ints({})}), counting({0, 3}));
}

TEST(GatherElements, BringsIndicesIntoRangeWhenItRuns) {
  expect_equal(run_unseen(gather_elements, {counting({3}), ints({kHighest, kLowest})}),
               floats({2}, {2, 0}));
}

TEST(GatherElements, RefusesIndicesThatDoNotFit) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(gather_elements, {x, ints({0})}), "rank 1");
  expect_refused(evaluate(gather_elements, {x, Tensor({DType::kI64, {1, 4}})}), "reach outside");
  expect_refused(evaluate(gather_elements, {x, Tensor::of<int64_t>({1, 1}, {2})}), "index 2");
}

TEST(GatherNd, BringsIndicesIntoRangeWhenItRuns) {
  expect_equal(run_unseen(gather_nd, {counting({2, 3}), Tensor::of<int64_t>({1, 2}, {9, -9})}),
               floats({1}, {3}));
}

TEST(GatherNd, RefusesIndicesThatDoNotFit) {
  const Tensor x = counting({2, 3});
  auto indices = [](const Shape& shape) { return Tensor({DType::kI64, shape}); };
  expect_refused(evaluate(gather_nd, {x, indices({1, 3})}), "tuples of 3");
  expect_refused(evaluate(gather_nd, {x, indices({1, 0})}), "tuples of 0");
  expect_refused(evaluate(gather_nd, {x, indices({})}), "batch_dims");
  expect_refused(evaluate(gather_nd, {x, indices({2, 1})}, {{"batch_dims", int64_t{2}}}),
                 "batch_dims");
  expect_refused(evaluate(gather_nd, {x, indices({2, 1})}, {{"batch_dims", int64_t{-1}}}),
                 "batch_dims");
  expect_refused(evaluate(gather_nd, {x, indices({3, 1})}, {{"batch_dims", int64_t{1}}}),
                 "batches");
  expect_refused(evaluate(gather_nd, {x, Tensor::of<int64_t>({1, 2}, {1, 3})}), "index 3");
}

TEST(ScatterElements, WritesTheNearestElementWhenIndicesAreOutOfRange) {
  expect_equal(run_unseen(scatter_elements, {counting({3}), ints({kHighest}), floats({1}, {9})}),
               floats({3}, {0, 1, 9}));
}

TEST(ScatterElements, CombinesUpdatesOfTheSameElement) {
  auto scatter = [](const char* reduction) {
    return evaluate(scatter_elements, {floats({2}, {2, 5}), ints({0, 0}), floats({2}, {4, 3})},
                    {{"reduction", std::string(reduction)}});
  };
  expect_output(scatter("add"), floats({2}, {9, 5}));
  expect_output(scatter("mul"), floats({2}, {24, 5}));
  expect_output(scatter("max"), floats({2}, {4, 5}));
  expect_output(scatter("min"), floats({2}, {2, 5}));
  expect_refused(scatter("sub"), "reduction sub");
}

TEST(ScatterElements, LetsNaNWinWhereverItStands) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* reduction : {"max", "min"}) {
    const auto y =
        evaluate(scatter_elements, {floats({2}, {nan, 5}), ints({0, 1}), floats({2}, {4, nan})},
                 {{"reduction", std::string(reduction)}});
    ASSERT_TRUE(y.ok());
    for (float element : (*y)[0].data<float>()) EXPECT_TRUE(std::isnan(element)) << reduction;
  }
}

TEST(ScatterElements, LetsIntegersWrapAround) {
  const auto top = std::numeric_limits<int32_t>::max();
  expect_output(
      evaluate(scatter_elements,
               {Tensor::of<int32_t>({1}, {top}), ints({0}), Tensor::of<int32_t>({1}, {1})},
               {{"reduction", std::string("add")}}),
      Tensor::of<int32_t>({1}, {std::numeric_limits<int32_t>::min()}));
}

TEST(ScatterElements, TakesBoolsAsOrAndAnd) {
  const Tensor data = Tensor::of<bool>({2}, {true, true}),
               updates = Tensor::of<bool>({2}, {true, false});
  auto scatter = [&](const char* reduction) {
    return evaluate(scatter_elements, {data, ints({0, 1}), updates},
                    {{"reduction", std::string(reduction)}});
  };
  expect_output(scatter("add"), Tensor::of<bool>({2}, {true, true}));
  expect_output(scatter("mul"), Tensor::of<bool>({2}, {true, false}));
}

TEST(ScatterElements, RefusesUpdatesThatDoNotFit) {
  const Tensor x = counting({2, 3}), indices({DType::kI64, {1, 1}});
  expect_refused(evaluate(scatter_elements, {x, indices, counting({1, 2})}), "do not match");
  expect_refused(evaluate(scatter_elements, {x, indices, Tensor({DType::kI64, {1, 1}})}), "match");
  expect_refused(evaluate(scatter_elements, {x, Tensor({DType::kI64, {1, 4}}), counting({1, 4})}),
                 "outside");
  expect_refused(
      evaluate(scatter_elements, {x, Tensor::of<int64_t>({1, 1}, {5}), counting({1, 1})}),
      "index 5");
}

TEST(ScatterNd, RefusesUpdatesThatDoNotFit) {
  const Tensor x = counting({2, 3}), indices({DType::kI64, {1, 1}});
  expect_refused(evaluate(scatter_nd, {x, indices, counting({1, 9})}), "do not match");
  expect_refused(evaluate(scatter_nd, {x, Tensor({DType::kI64, {1, 3}}), counting({1})}), "tuples");
  expect_refused(evaluate(scatter_nd, {x, Tensor::of<int64_t>({1, 1}, {2}), counting({1, 3})}),
                 "index 2");
}

TEST(ScatterNd, AddsSlices) {
  expect_output(evaluate(scatter_nd,
                         {counting({2, 2}), Tensor::of<int64_t>({2, 1}, {-1, 1}), counting({2, 2})},
                         {{"reduction", std::string("add")}}),
                floats({2, 2}, {0, 1, 4, 7}));
}

}  // namespace
}  // namespace shoal::ops
