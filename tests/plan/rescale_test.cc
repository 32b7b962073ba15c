// Plans carried over to networks of other widths.
#include "shoal/plan/rescale.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {
namespace {

// A residual block and a classifier of this width.
Graph network(int64_t width) {
  Rng rng(1);
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 3, 32, 32}});
  const auto conv = [&](ValueId from, int64_t channels, const std::string& name) {
    const ValueId w = graph.add_constant(name + ".w", random_tensor(rng, {width, channels, 3, 3}));
    return (*graph.add_node(ops::conv, {from, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                            {name}, name))[0];
  };
  const ValueId a = conv(x, 3, "a"), b = conv(a, width, "b"), c = conv(b, width, "c");
  const ValueId sum = (*graph.add_node(ops::add, {a, c}, {}, {"sum"}, "sum"))[0];
  const ValueId flat = (*graph.add_node(ops::flatten, {sum}, {}, {"flat"}, "flat"))[0];
  const ValueId m = graph.add_constant("m", random_tensor(rng, {width * 32 * 32, 10}));
  graph.mark_output((*graph.add_node(ops::mat_mul, {flat, m}, {}, {"y"}, "y"))[0]);
  return graph;
}

ClusterProfile workers(size_t count) {
  return uniform_cluster(count, *find_device("pi3"), *find_link("gigabit"));
}

TEST(Rescaled, ComputesAllOfTheNarrowNetwork) {
  const Graph wide = network(64);
  const ClusterProfile cluster = workers(3);
  for (const Cut cut : {Cut::kRows, Cut::kChannels, Cut::kGrid, Cut::kNone}) {
    const auto plans = make_plans(wide, cluster, {.cuts = {cut}});
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    for (const Prediction& made : *plans) {
      const auto same = rescaled(made.plan(), wide, wide, 3);
      ASSERT_TRUE(same.ok()) << same.status().message();
      EXPECT_EQ(*same, made.plan()) << made.name;
      for (const int64_t width : {41, 7, 2, 1}) {
        const Graph narrow = network(width);
        const auto plan = rescaled(made.plan(), wide, narrow, 3);
        ASSERT_TRUE(plan.ok()) << made.name << ": " << plan.status().message();
        EXPECT_TRUE(verify(narrow, *plan, 3).ok());
        const auto scheduled = ScheduledPlan::make(narrow, *plan);
        ASSERT_TRUE(scheduled.ok());
        EXPECT_LT(predict("", *scheduled, cluster).timeline.seconds, made.timeline.seconds);
      }
    }
  }
}

TEST(Rescaled, RefusesOtherNodesAndProtectedPlans) {
  const Graph wide = network(64);
  const auto one = plan_for_one(wide, workers(2), 0);
  ASSERT_TRUE(one.ok());
  Graph other;
  const ValueId x = other.add_input("x", {DType::kF32, {1, 3, 32, 32}});
  other.mark_output(*other.add(ops::relu, {x}));
  EXPECT_EQ(rescaled(one->plan(), wide, other, 2).status().code(), Code::kUnsupported);
  Plan safe = one->plan();
  safe.survives = 1;
  EXPECT_EQ(rescaled(safe, wide, wide, 2).status().code(), Code::kUnsupported);
  EXPECT_EQ(rescaled(one->plan(), wide, wide, 0).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace shoal::plan
