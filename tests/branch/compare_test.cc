#include "shoal/shrink/branches/compare.h"

#include <gtest/gtest.h>

#include <numeric>

#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/branches.h"

namespace shoal::branch {
namespace {

using plan::ClusterProfile;

ClusterProfile pis(size_t workers, const char* link) {
  return plan::uniform_cluster(workers, *plan::find_device("pi3"), *plan::find_link(link));
}

ClusterProfile with_memory(ClusterProfile cluster, double bytes) {
  for (plan::WorkerProfile& worker : cluster.workers) worker.memory_bytes = bytes;
  return cluster;
}

// [Hadidi 2021, 5.1]: the splitter stops at the smallest power of two that fits.
TEST(FewestBranches, StopsAtTheFirstThatFits) {
  const Graph graph = *zoo::build("vgg16cifar", {.width = 0.25});
  const ClusterProfile cluster = pis(8, "gigabit");
  EXPECT_EQ(*fewest_branches(graph, cluster, 0, 64), 1u);
  size_t before = 1;
  for (double bytes : {2e6, 1e6, 3e5, 1e5}) {
    const ClusterProfile small = with_memory(cluster, bytes);
    const auto branches = fewest_branches(graph, small, 0, 64);
    ASSERT_TRUE(branches.ok()) << branches.status().message();
    EXPECT_GE(*branches, before);
    before = *branches;
    const auto fits = [&](size_t count) {
      const Graph made = make_branches(graph, {.widths = equal_widths(count)})->graph;
      return compare(graph, made, small).status().code() != Code::kExhausted;
    };
    EXPECT_TRUE(*branches == 2 || !fits(*branches / 2));
  }
  EXPECT_GT(before, 2u);
  EXPECT_EQ(fewest_branches(graph, with_memory(cluster, 100), 0, 8).status().message(),
            "no worker has the memory for one of 8 branches");
}

// Three devices, each twice as fast as the one before, do the work of seven times the slowest.
TEST(WidthsFor, LetsUnequalWorkersEndTogether) {
  for (const char* name : {"convnet", "vgg16cifar", "resnet20"}) {
    const Graph graph = *zoo::build(name);
    ClusterProfile cluster = pis(3, "gigabit");
    scale(cluster.workers[0], 4);
    scale(cluster.workers[1], 2);
    const auto widths = widths_for(graph, cluster, 0);
    ASSERT_TRUE(widths.ok()) << widths.status().message();
    const Graph made = *passes::optimize(make_branches(graph, {.widths = *widths})->graph);
    const plan::Prediction together =
        **plan::plan_branches(made, *plan::find_branches(made), cluster, {0, 1, 2});
    const std::vector<double>& seconds = together.timeline.compute_seconds;
    const double fastest_alone = plan::plan_for_one(made, cluster, 2)->timeline.compute_seconds[2];
    const double ideal = 7.0 / 4;
    EXPECT_GT(fastest_alone / *std::ranges::max_element(seconds), 0.9 * ideal) << name;
  }
}

TEST(Compare, KnowsMoreBranchesThanChannels) {
  const Graph graph = *zoo::build("lenet5", {.width = 0.25});  // of 5 channels first
  const Graph made = make_branches(graph, {.widths = equal_widths(16)})->graph;
  const auto compared = compare(graph, made, pis(16, "gigabit"));
  ASSERT_TRUE(compared.ok()) << compared.status().message();
  EXPECT_EQ(compared->messages, 32u);
}

TEST(Compare, SaysWhichIsFaster) {
  const Graph large = *zoo::build("vgg16cifar", {.width = 0.5}), small = *zoo::build("mlp");
  const auto branched = [](const Graph& graph) {
    return make_branches(graph, {.widths = equal_widths(4)})->graph;
  };
  const auto pays = compare(large, branched(large), pis(4, "ethernet-100"));
  ASSERT_TRUE(pays.ok());
  EXPECT_TRUE(pays->branches_are_faster());
  EXPECT_EQ(pays->messages, 8u);
  const auto lost = compare(small, branched(small), pis(4, "wifi-32"));
  ASSERT_TRUE(lost.ok());
  EXPECT_FALSE(lost->branches_are_faster());
}

}  // namespace
}  // namespace shoal::branch
