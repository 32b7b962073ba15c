// What redundant plans save where workers are slow.
#include <gtest/gtest.h>

#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {
namespace {

// A plan that survives a loss need not wait for a slow worker; others have to.
TEST(StragglerLatencies, AreWhatRedundancySaves) {
  const Graph graph = *zoo::build("lenet5", {});
  const ClusterProfile cluster = uniform_cluster(4, *find_device("pi3"), *find_link("gigabit"));
  const auto with = [&](int survive) {
    PlanOptions options;
    options.survive = survive;
    const auto plans = make_plans(graph, cluster, options);
    EXPECT_TRUE(plans.ok()) << plans.status().message();
    return simulate_stragglers(plans->front(), cluster, 100, {1, 50});
  };
  const StragglerLatencies coded = with(1), plain = with(0);
  EXPECT_EQ(coded.first.count(), 100u);
  EXPECT_LT(coded.first.mean(), 0.5 * coded.all.mean());
  EXPECT_EQ(plain.first.mean(), plain.all.mean());
}

}  // namespace
}  // namespace shoal::plan
