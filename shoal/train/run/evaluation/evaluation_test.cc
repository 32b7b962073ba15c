#include "shoal/train/run/evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "shoal/train/run/evaluation/evaluate_graph.h"
#include "shoal/train/run/setup/tiny_network_testing.h"

namespace shoal::fit {
namespace {

using testing::make_network;
using testing::Rows;
using Scores = std::vector<float>;

TEST(Evaluation, CountsAnswers) {
  Evaluation result;
  result.add(Scores{5, 1, 0, 0, 0, 0, 0}, false, 0, 10);
  result.add(Scores{5, 4, 3, 2, 1, 0, 0}, false, 4, 11);  // fifth
  result.add(Scores{5, 4, 3, 2, 1, 0, 0}, false, 5, 12);  // sixth
  EXPECT_EQ(result.images(), 3u);
  EXPECT_EQ(result.correct(), 1u);
  EXPECT_NEAR(result.top1(), 100.0 / 3, 1e-9);
  EXPECT_NEAR(result.top5(), 200.0 / 3, 1e-9);
  EXPECT_EQ(result.classes(), 7u);
  EXPECT_EQ(result.confusions(0, 0), 1u);
  EXPECT_EQ(result.confusions(4, 0), 1u);
  EXPECT_EQ(result.confusions(0, 4), 0u);
}

TEST(Evaluation, IsEmptyAtFirst) {
  const Evaluation result;
  EXPECT_EQ(result.top1(), 0);
  EXPECT_EQ(result.loss(), 0);
}

TEST(Evaluation, HasTheMeanCrossEntropy) {
  Evaluation result;
  result.add(Scores{0, 0}, false, 1, 0);
  result.add(Scores{0.25f, 0.75f}, true, 0, 1);
  EXPECT_NEAR(result.loss(), (std::log(2.0) + std::log(4.0)) / 2, 1e-6);
  Evaluation certain;
  certain.add(Scores{0, 1}, true, 0, 0);
  EXPECT_NEAR(certain.loss(), -std::log(1e-30), 1e-6);  // not infinite
}

TEST(Evaluation, CountsALabelThatIsNoClassAsWrong) {
  Evaluation result;
  result.add(Scores{1, 0}, false, 2, 0);
  result.add(Scores{1, 0}, false, -1, 1);
  EXPECT_EQ(result.images(), 2u);
  EXPECT_EQ(result.correct(), 0u);
  EXPECT_EQ(result.top5(), 0);
  EXPECT_EQ(result.mistakes().size(), 2u);
}

TEST(Evaluation, CountsNanAsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool probabilities : {false, true}) {
    Evaluation result;
    result.add(Scores{0.75f, 0.25f}, probabilities, 0, 0);
    result.add(Scores{nan, nan}, probabilities, 0, 1);
    result.add(Scores{nan, nan}, probabilities, 1, 2);
    result.add(Scores{nan, 1}, probabilities, 0, 3);
    EXPECT_EQ(result.correct(), 1u);
    EXPECT_EQ(result.with_nan(), 3u);
    EXPECT_EQ(result.top5(), 25);
    EXPECT_TRUE(std::isfinite(result.loss()));
    ASSERT_EQ(result.mistakes().size(), 3u);
    EXPECT_EQ(result.mistakes()[0].example, 3u);
    EXPECT_EQ(result.mistakes()[2].probability, 0);
  }
}

TEST(Evaluation, KeepsTheMistakesOfHighestProbability) {
  Evaluation result;
  for (size_t i = 0; i < 2 * Evaluation::kMaxMistakes; ++i) {
    result.add(Scores{0.1f * static_cast<float>(i + 1), 0}, false, 1, i);
  }
  ASSERT_EQ(result.mistakes().size(), Evaluation::kMaxMistakes);
  EXPECT_EQ(result.mistakes()[0].example, 2 * Evaluation::kMaxMistakes - 1);
  EXPECT_EQ(result.mistakes()[0].label, 1);
  EXPECT_EQ(result.mistakes()[0].answer, 0);
  for (size_t i = 1; i < result.mistakes().size(); ++i) {
    EXPECT_GE(result.mistakes()[i - 1].probability, result.mistakes()[i].probability);
  }
}

// Answers with the brightest row, so that it is right about Rows. [batch, 1, 4, 4] -> [batch, 4].
Graph brightest_row(int64_t batch, bool softmax = false) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {batch, 1, 4, 4}});
  const ValueId axes = graph.add_constant("axes", Tensor::of<int64_t>({2}, {1, 3}));
  ValueId y = *graph.add(ops::reduce_sum, {x, axes}, {{"keepdims", int64_t{0}}}, "y");
  if (softmax) y = *graph.add(ops::softmax, {y}, {{"axis", int64_t{1}}}, "p");
  graph.mark_output(y);
  return graph;
}

class Evaluate : public ::testing::Test {
 protected:
  Session open(const Graph& graph) {
    auto session = Session::open(graph, *device_);
    SHOAL_CHECK(session.ok());
    return *std::move(session);
  }
  std::unique_ptr<Device> device_ = make_reference_device();
};

TEST_F(Evaluate, GoesThroughAllExamplesOnce) {
  Session session = open(brightest_row(4));
  std::vector<size_t> seen;
  const auto result = evaluate(session, Rows(10), {.progress = [&](size_t done, size_t total) {
                                 EXPECT_EQ(total, 10u);
                                 seen.push_back(done);
                               }});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(seen, (std::vector<size_t>{4, 8, 10}));  // the last batch is filled up
  EXPECT_EQ(result->images(), 10u);
  EXPECT_EQ(result->top1(), 100);
}

TEST_F(Evaluate, DoesNotDependOnTheBatch) {
  Session session = open(make_network(1)), four = open(make_network(4));
  const auto by_one = evaluate(session, Rows(30)), by_four = evaluate(four, Rows(30));
  ASSERT_TRUE(by_one.ok() && by_four.ok());
  EXPECT_EQ(by_one->correct(), by_four->correct());
  EXPECT_NEAR(by_one->loss(), by_four->loss(), 1e-6);
  EXPECT_EQ(by_one->mistakes().size(), by_four->mistakes().size());
}

TEST_F(Evaluate, StopsAtALimit) {
  Session session = open(brightest_row(4));
  EXPECT_EQ(evaluate(session, Rows(30), {.limit = 7})->images(), 7u);
  EXPECT_EQ(evaluate(session, Rows(30), {.limit = 70})->images(), 30u);
  EXPECT_EQ(evaluate(session, Rows(0))->images(), 0u);
  EXPECT_EQ(EvaluationOptions{.limit = 7}.examples_of(Rows(30)), 7u);
  EXPECT_EQ(EvaluationOptions{.limit = 70}.examples_of(Rows(30)), 30u);
  EXPECT_EQ(EvaluationOptions{}.examples_of(Rows(30)), 30u);
}

TEST_F(Evaluate, AsAShareIsThatOfTheRightAnswers) {
  const Rows data(30);
  Session right = open(brightest_row(4)), other = open(make_network(4));
  EXPECT_EQ(*share_right_of(data, {})(right), 1);
  EXPECT_EQ(*share_right_of(data, {.limit = 10})(other),
            evaluate(other, data, {.limit = 10})->top1() / 100);
  EXPECT_FALSE(share_right_of(data, {.batch = 3})(right).ok());
}

TEST_F(Evaluate, EndsWhenItIsCancelled) {
  Session session = open(brightest_row(4));
  std::atomic<bool> cancel = false;
  const auto result =
      evaluate(session, Rows(30),
               {.progress = [&](size_t done, size_t) { cancel = done >= 8; }, .cancel = &cancel});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->images(), 8u);
}

TEST_F(Evaluate, KnowsProbabilitiesBehindASoftmax) {
  Session raw = open(make_network(4)), soft = open(make_network(4, 1, /*softmax=*/true));
  EXPECT_NEAR(evaluate(raw, Rows(30))->loss(), evaluate(soft, Rows(30))->loss(), 1e-5);
}

TEST_F(Evaluate, RefusesImagesThatDoNotFit) {
  Session session = open(brightest_row(4));
  const auto result = evaluate(session, Rows(8), {.preprocess = {.crop = 3}});
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  const auto batch = evaluate(session, Rows(8), {.batch = 3});
  EXPECT_EQ(batch.status().code(), Code::kInvalidArgument);
}

TEST_F(Evaluate, RefusesModelsOfSeveralInputs) {
  Graph graph;
  const TensorType type{DType::kF32, {1, 1, 4, 4}};
  const ValueId a = graph.add_input("a", type), b = graph.add_input("b", type);
  graph.mark_output(*graph.add(ops::add, {a, b}));
  Session session = open(graph);
  EXPECT_EQ(evaluate(session, Rows(4)).status().code(), Code::kInvalidArgument);
}

TEST_F(Evaluate, OfAGraphIsThatOfItsSession) {
  const Rows data(30);
  for (const bool softmax : {false, true}) {
    const Graph network = make_network(4, 1, softmax);
    Session session = open(network);
    const Batches batches(data,
                          [](const Tensor& image) {
                            return image_for_input(image, std::vector<int64_t>{4, 1, 4, 4}, {});
                          },
                          {.batch = 4, .classes = 4});
    const auto here = evaluate(*device_, network, batches), there = evaluate(session, data);
    ASSERT_TRUE(here.ok() && there.ok());
    EXPECT_EQ(here->images(), 30u);
    EXPECT_EQ(here->correct(), there->correct());
    EXPECT_NEAR(here->loss(), there->loss(), 1e-6);
  }
}

}  // namespace
}  // namespace shoal::fit
