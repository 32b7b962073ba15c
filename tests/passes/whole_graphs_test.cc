// Passes on graphs that were not made for one of them: random ones, standard networks, huge ones.
#include <gtest/gtest.h>

#include <ctime>

#include "answers.h"
#include "random_graph.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"

namespace shoal::passes {
namespace {

class RandomGraph : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomGraph, AnswersTheSameAfterEveryPassAndAll) {
  for (uint32_t i = 0; i < 20; ++i) {
    const uint32_t seed = 20 * GetParam() + i;
    const Graph before = random_graph(seed);
    for (const Pass& pass : all()) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(pass.name));
      auto after = pass.run(before);
      ASSERT_TRUE(after.ok()) << after.status().message();
      ASSERT_TRUE(verify(*after).ok()) << verify(*after).message();
      expect_same_answers(before, *after);
      if (HasFatalFailure()) return;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", all\n" + to_text(before));
    auto after = optimize(before);
    ASSERT_TRUE(after.ok()) << after.status().message();
    EXPECT_LE(after->nodes().size(), before.nodes().size());
    expect_same_answers(before, *after);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraph, testing::Range(0u, 10u));

struct Network {
  const char* name;
  size_t most_nodes;  // after all passes
};

class ZooNetwork : public testing::TestWithParam<Network> {};

TEST_P(ZooNetwork, ShrinksAndAnswersTheSame) {
  auto before = zoo::build(GetParam().name);
  ASSERT_TRUE(before.ok()) << before.status().message();
  auto after = optimize(*before);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_LE(after->nodes().size(), GetParam().most_nodes) << to_text(*after);
  expect_same_answers(*before, *after);
}

INSTANTIATE_TEST_SUITE_P(Small, ZooNetwork,
                         testing::Values(Network{"mlp", 5}, Network{"lenet5", 9},
                                         Network{"convnet", 12}, Network{"encoder", 68}),
                         [](const auto& param) { return std::string(param.param.name); });

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Far more than is needed even with sanitizers; quadratic time would take minutes.
constexpr double kLinearSeconds = 30;

Graph chain(const Operator& op, int length) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 2}});
  for (int i = 0; i < length; ++i) x = *graph.add(op, {x});
  graph.mark_output(x);
  return graph;
}

TEST(HugeGraph, OfIdentitiesBecomesOneInLinearTime) {
  const Graph before = chain(ops::identity, 100'000);
  const double begin = cpu_seconds();
  auto after = optimize(before);
  RecordProperty("milliseconds", static_cast<int>(1000 * (cpu_seconds() - begin)));
  EXPECT_LT(cpu_seconds() - begin, kLinearSeconds);
  ASSERT_TRUE(after.ok()) << after.status().message();
  EXPECT_EQ(after->nodes().size(), 1u);
}

TEST(HugeGraph, OfWhatStaysTakesLinearTime) {
  for (const Operator* op : {&ops::relu, &ops::transpose, &ops::softmax}) {
    const Graph before = chain(*op, 50'000);
    const double begin = cpu_seconds();
    auto after = optimize(before);
    EXPECT_LT(cpu_seconds() - begin, kLinearSeconds);
    ASSERT_TRUE(after.ok()) << after.status().message();
  }
}

// Each node squares the last value: products that are taken apart would double with every step.
TEST(HugeGraph, OfSquaresTakesLinearTime) {
  Graph before;
  ValueId x = before.add_input("x", {DType::kF32, {1, 2}});
  for (int i = 0; i < 50'000; ++i) x = *before.add(ops::mul, {x, x});
  before.mark_output(x);
  const double begin = cpu_seconds();
  auto after = optimize(before);
  EXPECT_LT(cpu_seconds() - begin, kLinearSeconds);
  ASSERT_TRUE(after.ok()) << after.status().message();
}

}  // namespace
}  // namespace shoal::passes
