#include <cmath>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kAll = 100;

// Two boxes that cover each other by half (IoU 1/3), and one apart; corners in any order.
Tensor three_boxes() { return floats({1, 3, 4}, {0, 0, 1, 2, /**/ 1, 3, 0, 1, /**/ 5, 5, 6, 6}); }

Result<std::vector<Tensor>> suppress(const Tensor& boxes, const Tensor& scores, int64_t most,
                                     float overlap, Tensor least = {}) {
  return evaluate(non_max_suppression,
                  {boxes, scores, ints({most}), floats({1}, {overlap}), std::move(least)});
}

TEST(NonMaxSuppression, KeepsTheBetterOfTwoThatOverlap) {
  const Tensor scores = floats({1, 1, 3}, {0.5f, 0.9f, 0.7f});
  expect_output(suppress(three_boxes(), scores, kAll, 0.3f),
                Tensor::of<int64_t>({2, 3}, {0, 0, 1, 0, 0, 2}));
  expect_output(suppress(three_boxes(), scores, kAll, 0.4f),
                Tensor::of<int64_t>({3, 3}, {0, 0, 1, 0, 0, 2, 0, 0, 0}));
}

TEST(NonMaxSuppression, LooksAtClassesApart) {
  const Tensor scores = floats({1, 2, 3}, {9, 1, 1, 1, 9, 1});
  expect_output(suppress(three_boxes(), scores, 1, 0),
                Tensor::of<int64_t>({2, 3}, {0, 0, 0, 0, 1, 1}));
}

TEST(NonMaxSuppression, DropsScoresBelowTheLeastAndNans) {
  const Tensor scores = floats({1, 1, 3}, {0.5f, std::nanf(""), 0.2f});
  expect_output(suppress(three_boxes(), scores, kAll, 0.5f, floats({1}, {0.3f})),
                Tensor::of<int64_t>({1, 3}, {0, 0, 0}));
  expect_output(suppress(three_boxes(), scores, kAll, 0.5f),
                Tensor::of<int64_t>({2, 3}, {0, 0, 0, 0, 0, 2}));
}

TEST(NonMaxSuppression, SelectsNothingUnlessToldHowMany) {
  const Tensor scores = floats({1, 1, 3}, {1, 2, 3});
  expect_output(evaluate(non_max_suppression, {three_boxes(), scores}),
                Tensor({DType::kI64, {0, 3}}));
  expect_output(suppress(three_boxes(), scores, -1, 0), Tensor({DType::kI64, {0, 3}}));
}

TEST(NonMaxSuppression, OfNoBoxesIsDoneAtOnceWhateverTheNumberOfClasses) {
  const Tensor boxes({DType::kF32, {1, 0, 4}}), scores({DType::kF32, {1, int64_t{1} << 40, 0}});
  expect_output(suppress(boxes, scores, kAll, 0), Tensor({DType::kI64, {0, 3}}));
}

TEST(NonMaxSuppression, RefusesInputsThatDoNotFit) {
  const Tensor scores = floats({1, 1, 3}, {1, 2, 3});
  expect_refused(suppress(counting({3, 4}), scores, kAll, 0), "rank 2");
  expect_refused(suppress(counting({1, 2, 4}), scores, kAll, 0), "are not");
  expect_refused(suppress(counting({1, 3, 5}), scores, kAll, 0), "are not");
  expect_refused(suppress(three_boxes(), scores, kAll, 1.5f), "[0, 1]");
  expect_refused(suppress(three_boxes(), scores, kAll, std::nanf("")), "[0, 1]");
  expect_refused(suppress(three_boxes(), scores, kAll, 0, floats({2}, {1, 2})), "one element");
  expect_refused(
      evaluate(non_max_suppression, {three_boxes(), scores}, {{"center_point_box", int64_t{2}}}),
      "center_point_box");
}

}  // namespace
}  // namespace shoal::ops
