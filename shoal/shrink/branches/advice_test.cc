#include "shoal/shrink/branches/advice.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/device_presets.h"

namespace shoal::branch {
namespace {

// Any plan, which takes `seconds`.
plan::Prediction taking(double seconds) {
  Graph graph;
  graph.mark_output(*graph.add(ops::relu, {graph.add_input("x", {DType::kF32, {1, 4}})}));
  plan::Prediction made =
      plan::compare_plans(
          graph, plan::uniform_cluster(1, *plan::find_device("pi4"), *plan::find_link("gigabit")),
          {})
          ->best();
  made.timeline.seconds = seconds;
  return made;
}

TEST(Advice, SaysWhatIsBetterThanBranches) {
  const Comparison slow{.branches = taking(0.25), .ordinary = taking(0.1)},
      fast{.branches = taking(0.1), .ordinary = taking(0.25)};
  LearnResult worse, better;
  worse.top1 = 80;
  worse.top1_same_macs = 81.5;
  better.top1 = 80;
  better.top1_same_macs = 79;
  EXPECT_TRUE(advice({}, {}).empty());
  EXPECT_TRUE(advice(better, fast).empty());
  EXPECT_EQ(advice({}, slow),
            std::vector<std::string>{"The ordinary plan of the network as it is takes 100.0 ms, "
                                     "the branches 250.0 ms: branches do not pay here."});
  EXPECT_EQ(
      advice(worse, fast),
      std::vector<std::string>{"A single network of the same work is better by 1.50 points."});
  EXPECT_EQ(advice(worse, slow).size(), 2u);
}

}  // namespace
}  // namespace shoal::branch
