#include <gtest/gtest.h>

#include <fstream>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/find.h"

namespace shoal::gpu {
namespace {

constexpr Capabilities kDevice{.max_group_items = 256,
                               .local_bytes = 48 << 10,
                               .compute_units = 20,
                               .room_bytes = 1 << 30,
                               .groups_meet = true};

Graph network() {
  return *parse_text(R"(
    input x f32[4,64,32,32]
    const w f32[64,64,3,3] = random(1)
    c = Conv(x, w) pads=[1,1,1,1]
    r = Relu(c)
    d = Conv(r, w) pads=[1,1,1,1]
    const v f32[48,64,1,1] = random(2)
    e = Conv(d, v)
    output e)",
                     ops::find);
}

// The nodes of a plan that was measured, and the way that shall be the fastest.
struct Clock {
  std::vector<std::string> measured = {};
  size_t fastest = 0;

  MeasureNodes measure() {
    return [this](Plan plan) -> Result<std::vector<double>> {
      for (const KernelInfo& info : plan.infos) measured.push_back(info.name);
      std::vector<double> seconds(plan.steps.size(), 1);
      seconds[std::min(fastest, seconds.size() - 1)] = 0.5;
      return seconds;
    };
  }
};

TEST(Tuning, MeasuresEachLayerOnceAndKeepsWhatIsFastest) {
  const auto folder = *TemporaryFolder::make();
  const PlanOptions options{.device = kDevice, .tuning = folder.path() / "a" / "tuning"};
  const Graph graph = network();
  Clock clock{.fastest = 2};
  {
    Tuning tuning(options.tuning);
    EXPECT_EQ(ranks_for(graph, options, tuning, {}), Ranks()) << "nothing is known";
    EXPECT_EQ(ranks_for(graph, options, tuning, clock.measure()), (Ranks{2, 0, 2, 2}));
  }
  // Both layers of 3 x 3 are alike, and have both kinds of kernels.
  EXPECT_EQ(std::ranges::count(clock.measured, "winograd"), 2);
  EXPECT_GE(std::ranges::count(clock.measured, "tiles"), 3);
  const size_t ways = clock.measured.size();
  EXPECT_LE(ways, 16u);
  Tuning tuning(options.tuning);
  EXPECT_EQ(ranks_for(graph, options, tuning, clock.measure()), (Ranks{2, 0, 2, 2}));
  EXPECT_EQ(ranks_for(graph, options, tuning, {}), (Ranks{2, 0, 2, 2}));
  EXPECT_EQ(clock.measured.size(), ways);
  // Each way computes the node.
  const auto plan = make_plan(graph, options, {2, 0, 2, 2});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
}

TEST(Tuning, HasTheFirstWayWhereNothingIsKnown) {
  const auto folder = *TemporaryFolder::make();
  const PlanOptions options{.device = kDevice, .tuning = folder.path() / "tuning"};
  const Graph graph = network();
  Tuning tuning("");
  const MeasureNodes fails = [](const Plan&) -> Result<std::vector<double>> {
    return Status(Code::kExhausted, "no memory");
  };
  EXPECT_EQ(ranks_for(graph, options, tuning, fails), (Ranks{0, 0, 0, 0}));
  EXPECT_TRUE(tuning.is_empty()) << "it is worth another try";
  for (const char* garbage : {"", "1", "1 2 x", "x", "1 99999999999999999999", "5 7\n5 200000\n"}) {
    std::ofstream(options.tuning) << garbage;
    Tuning damaged(options.tuning);
    EXPECT_EQ(damaged.find(5).value_or(7), 7u) << garbage;
    Clock clock{.fastest = 1};
    EXPECT_EQ(ranks_for(graph, options, damaged, clock.measure()), (Ranks{1, 0, 1, 1}));
  }
}

}  // namespace
}  // namespace shoal::gpu
