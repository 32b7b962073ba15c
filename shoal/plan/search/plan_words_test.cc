// Plans in words, and what redundant ones save where workers are slow.
#include "shoal/plan/search/plan_words.h"

#include <gtest/gtest.h>

#include <set>

#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {
namespace {

TEST(PlanWords, NameEveryCutOnce) {
  std::set<Cut> seen;
  for (const std::string& name : cut_names()) {
    PlanOptions options;
    force_cut(name, options);
    EXPECT_TRUE(options.forced);
    ASSERT_EQ(options.cuts.size(), 1u);
    const Cut cut = *options.cuts.begin();
    EXPECT_EQ(name, cut == Cut::kNone ? "none" : name_of(cut));
    EXPECT_TRUE(seen.insert(cut).second) << name;
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(Cut::kClusters) + 1) << "the last of them";
}

TEST(PlanWords, NameEveryWireFormat) {
  const auto names = wire_format_names();
  EXPECT_EQ(names, (std::vector<std::string>{"f32", "f16", "int8"}));
  for (const std::string& name : names) EXPECT_EQ(name_of(find_wire_format(name)), name);
}

// A plan that survives a loss need not wait for who is slow; one that does not survive has to.
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
