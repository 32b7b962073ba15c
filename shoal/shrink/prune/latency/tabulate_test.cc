#include "shoal/shrink/prune/latency/tabulate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/units/remove.h"

namespace shoal::shrink {
namespace {

// Two blocks of a residual network: a stream of 24 channels, and inner widths of 20.
Graph residual() {
  auto graph = parse_text(R"(input x f32[1,3,6,6]
const a f32[24,3,3,3] = random(1)
const b f32[20,24,3,3] = random(2)
const c f32[24,20,3,3] = random(3)
const d f32[20,24,3,3] = random(4)
const e f32[24,20,3,3] = random(5)
const g f32[24,10] = random(6)
s0 = Conv(x, a) pads=[1,1,1,1]
r0 = Relu(s0)
i1 = Conv(r0, b) pads=[1,1,1,1]
j1 = Relu(i1)
k1 = Conv(j1, c) pads=[1,1,1,1]
s1 = Add(r0, k1)
r1 = Relu(s1)
i2 = Conv(r1, d) pads=[1,1,1,1]
j2 = Relu(i2)
k2 = Conv(j2, e) pads=[1,1,1,1]
s2 = Add(r1, k2)
p = GlobalAveragePool(s2)
f = Flatten(p)
y = MatMul(f, g)
output y
)",
                          ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

ValueId value_of(const Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    if (graph[static_cast<ValueId>(i)].name == name) return static_cast<ValueId>(i);
  }
  return kNoValue;
}

TEST(LatencyTable, KnowsWhatGroupsMakeOfAnAxis) {
  const Graph graph = residual();
  const auto groups = *compress::find_groups(graph);
  ASSERT_EQ(groups.groups.size(), 3u);
  EXPECT_EQ(all_kept(groups), (Kept{24, 20, 20}));
  const std::vector<size_t> units = {0, 1, 24, 44, 45, 46};
  const Kept kept = kept_without(groups, units);
  EXPECT_EQ(kept, (Kept{22, 19, 17}));
  const auto smaller = compress::remove(graph, groups, units);
  ASSERT_TRUE(smaller.ok());
  for (const char* name : {"r0", "j1", "s1", "j2", "s2"}) {
    const auto extents = extents_of(graph, groups, value_of(graph, name));
    ASSERT_EQ(extents.size(), 1u) << name;
    EXPECT_EQ(extents[0].at(kept), (*smaller)[value_of(*smaller, name)].type.shape[1]) << name;
  }
  EXPECT_TRUE(extents_of(graph, groups, value_of(graph, "x")).empty());
}

// By a profile times are exact, so that only the table's own error is left.
TEST(Tabulate, PredictsOtherPrunings) {
  const Graph graph = residual();
  const auto groups = *compress::find_groups(graph);
  const StepTimer timer = timer_by(plan::uniform_worker("slow", 1e9, 1e9));
  const auto table = tabulate(graph, groups, timer, {.networks = 100});
  ASSERT_TRUE(table.ok()) << table.status().message();
  for (uint64_t seed = 100; seed < 120; ++seed) {
    std::vector<size_t> units;
    for (const compress::Group& group : groups.groups) {
      const size_t gone = RandomStream(seed, group.begin).below(group.size(), 0);
      for (size_t i = 0; i < gone; ++i) units.push_back(group.begin + i);
    }
    const Graph network = *passes::optimize(*compress::remove(graph, groups, units));
    const double ms = timer(network)->ms, predicted = table->ms(kept_without(groups, units));
    EXPECT_NEAR(predicted / ms, 1, 0.03) << seed;
  }
  EXPECT_LT(table->surfaces.size(), table->steps.size());  // the blocks have steps that are alike
  const std::vector<size_t> of_inner = table->steps_of(1);
  EXPECT_FALSE(of_inner.empty());
  EXPECT_LT(of_inner.size(), table->steps_of(0).size());
  const Kept all = all_kept(groups);
  EXPECT_LT(table->ms(all, of_inner), table->ms(all));
}

TEST(Tabulate, CountsWhatIsSpentInNoStepAndStepsThatComeAndGo) {
  const Graph graph = residual();
  const auto groups = *compress::find_groups(graph);
  std::vector<TimedNetwork> networks;
  for (size_t inner = 1; inner <= 20; ++inner) {
    TimedNetwork& network = networks.emplace_back();
    network.kept = {24, inner, 20};
    network.time.ms = inner > 8 ? 5.5 : 1.5;
    network.time.steps = {{"r0", {"x"}, "conv", 1}};
    if (inner > 8) network.time.steps.push_back({"j1", {"r0"}, "conv", 4});
  }
  const LatencyTable table = table_of(graph, groups, networks);
  ASSERT_EQ(table.steps.size(), 2u);
  EXPECT_NEAR(table.outside_ms, 0.5, 1e-9);
  EXPECT_NEAR(table.ms(Kept{24, 4, 20}), 1.5, 0.02);
  EXPECT_NEAR(table.ms(Kept{24, 8, 20}), 1.5, 0.02);
  EXPECT_NEAR(table.ms(Kept{24, 9, 20}), 5.5, 0.02);
}

TEST(Tabulate, DrawsPrunings) {
  const auto groups = *compress::find_groups(residual());
  EXPECT_EQ(drawn_units(groups, 3, 16), drawn_units(groups, 3, 16));
  EXPECT_NE(drawn_units(groups, 3, 16), drawn_units(groups, 4, 16));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (size_t kept : kept_without(groups, drawn_units(groups, seed, 16))) EXPECT_GE(kept, 1u);
  }
}

}  // namespace
}  // namespace shoal::shrink
