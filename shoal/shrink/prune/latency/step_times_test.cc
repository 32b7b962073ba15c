#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "shoal/engine/session/model.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/shrink/prune/latency/tabulate.h"

namespace shoal::shrink {
namespace {

Graph parsed(const char* text) {
  auto graph = parse_text(text, ops::find);
  SHOAL_CHECK(graph.ok());
  return *std::move(graph);
}

// As a device with a layout of its own runs `network`: each node takes a microsecond times its
// number, from 1 on.
constexpr const char* kNetwork = R"(input x f32[4]
a = Relu(x)
b = Neg(a)
y = Add(a, b)
output y
)";
constexpr const char* kExecuted = R"(input x f32[4]
x.blocked = Identity(x)
a.blocked = Relu(x.blocked)
u = Abs(a.blocked)
b.blocked = Neg(u)
t = Identity(a.blocked)
y.blocked = Add(t, b.blocked)
y = Identity(y.blocked)
output y
)";

class SteadyExecutable : public Executable {
 public:
  explicit SteadyExecutable(Graph graph) : graph_(std::move(graph)) {}
  Status run(std::span<const Tensor>, std::span<Tensor>, const RunOptions& options) override {
    for (size_t node = 0; node < graph_.nodes().size() && options.trace != nullptr; ++node) {
      options.trace->push_back({node, {}, std::chrono::microseconds(node + 1)});
    }
    return {};
  }
  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override { return {}; }
  const KernelInfo& kernel_of(size_t) const override { return kernel_; }

 private:
  Graph graph_;
  KernelInfo kernel_;
};

class SteadyDevice : public Device {
 public:
  explicit SteadyDevice(bool traces = true, const char* executed = kExecuted)
      : executed_(executed) {
    info_.traces = traces;
  }
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Executable>> compile(const Graph&) override {
    return std::unique_ptr<Executable>(std::make_unique<SteadyExecutable>(parsed(executed_)));
  }

 private:
  const char* executed_;
  DeviceInfo info_;
};

TEST(StepTimes, BelongToValuesOfTheNetwork) {
  SteadyDevice device;
  const Graph network = parsed(kNetwork);
  const auto timer = timer_on(device, network, 0.001);
  ASSERT_TRUE(timer.ok()) << timer.status().message();
  const auto time = (*timer)(network);
  ASSERT_TRUE(time.ok()) << time.status().message();
  ASSERT_EQ(time->steps.size(), 3u);
  const double microsecond = time->steps[0].ms / 3;
  EXPECT_EQ(time->steps[0].value, "a");  // with the block of its input
  EXPECT_EQ(time->steps[0].reads, std::vector<std::string>{"x"});
  EXPECT_EQ(time->steps[1].value, "b");
  EXPECT_EQ(time->steps[1].reads, std::vector<std::string>{"a"});
  EXPECT_NEAR(time->steps[1].ms / microsecond, 3 + 4, 1e-6);
  EXPECT_EQ(time->steps[2].value, "y");
  EXPECT_EQ(time->steps[2].reads, (std::vector<std::string>{"a", "b"}));
  EXPECT_NEAR(time->steps[2].ms / microsecond, 5 + 6 + 7, 1e-6);
}

TEST(StepTimes, SayHowManyChannelsMakeABlock) {
  const Graph network = parsed("input x f32[1,12]\na = Relu(x)\noutput a\n");
  SteadyDevice blocked(true, R"(input x f32[1,12]
const s i64[3] = [1,3,4]
const t i64[2] = [1,12]
x.blocked = Reshape(x, s)
a.blocked = Relu(x.blocked)
a = Reshape(a.blocked, t)
output a
)");
  EXPECT_EQ((*timer_on(blocked, network, 0.001))(network)->block, 4);
  SteadyDevice plain(true, "input x f32[1,12]\na = Relu(x)\noutput a\n");
  EXPECT_EQ((*timer_on(plain, network, 0.001))(network)->block, 1);
}

TEST(StepTimes, NeedADeviceThatTellsThem) {
  SteadyDevice silent(false);
  EXPECT_EQ(timer_on(silent, parsed(kNetwork)).status().code(), Code::kUnsupported);
}

TEST(StepTimes, AddUpToTheRun) {
  const auto device = make_reference_device();
  const Graph network = parsed(kNetwork);
  const auto timer = timer_on(*device, network, 0.002);
  ASSERT_TRUE(timer.ok());
  const auto time = (*timer)(network);
  double sum = 0;
  for (const StepTime& step : time->steps) sum += step.ms;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, time->ms);
}

TEST(StepTimes, FollowAProfile) {
  const Graph network = parsed(R"(input x f32[1,100]
const w f32[100,1000] = random(1)
y = MatMul(x, w)
z = Relu(y)
output z
)");
  const auto time = timer_by(plan::uniform_worker("one", 1e6, 1e9))(network);
  ASSERT_TRUE(time.ok());
  ASSERT_EQ(time->steps.size(), 2u);
  EXPECT_NEAR(time->steps[0].ms, 100, 1e-6);  // 1e5 products
  EXPECT_EQ(time->steps[0].reads, std::vector<std::string>{"x"});
  EXPECT_NEAR(time->steps[1].ms, 8e-3, 1e-9);  // 4 bytes in, 4 out, a thousand times
  EXPECT_NEAR(time->ms, 100.008, 1e-6);
}

// The steps of a plan add up to its time, but for the way of the answer.
TEST(TimerByPlan, SharesTheTimeOfTheBestPlan) {
  const Graph network = open_model("zoo:lenet5")->graph()->graph;
  const plan::ClusterProfile cluster = *plan::find_cluster("3xnexus5/wifi-94");
  const auto time = timer_by_plan(cluster)(network);
  ASSERT_TRUE(time.ok()) << time.status().message();
  const auto plans = plan::make_plans(network, cluster);
  ASSERT_TRUE(plans.ok());
  EXPECT_DOUBLE_EQ(time->ms, 1e3 * plans->front().timeline.seconds);
  double sum = 0;
  for (const StepTime& step : time->steps) {
    EXPECT_GE(step.ms, 0) << step.value;
    sum += step.ms;
  }
  EXPECT_LE(sum, time->ms + 1e-9);
  EXPECT_GE(sum, 0.8 * time->ms);
}

// After some searches plans are carried over. They are nearly as good as those of a search, and for
// a network that was searched for the very plan is known.
TEST(TimerByPlan, CarriesPlansOverToOtherWidths) {
  const Model model = *open_model("zoo:nin");
  const Graph graph = model.graph()->graph;
  const compress::Groups groups = *compress::find_groups(graph);
  const plan::ClusterProfile cluster = *plan::find_cluster("2xpi3/gigabit");
  const auto narrow = [&](uint64_t seed) {
    return *passes::optimize(*compress::remove(graph, groups, drawn_units(groups, seed, 1)));
  };
  const StepTimer timer = timer_by_plan(cluster);
  const double first = timer(*passes::optimize(graph))->ms;
  ASSERT_TRUE(timer(narrow(1)).ok() && timer(narrow(2)).ok());
  EXPECT_DOUBLE_EQ(timer(*passes::optimize(graph))->ms, first);
  for (const uint64_t seed : {uint64_t{3}, uint64_t{4}}) {
    const auto carried = timer(narrow(seed));
    const auto searched = timer_by_plan(cluster)(narrow(seed));
    ASSERT_TRUE(carried.ok() && searched.ok());
    EXPECT_NE(carried->ms, searched->ms);  // it was no search
    EXPECT_NEAR(carried->ms / searched->ms, 1, 0.1);
  }
}

// Messages of fewer bytes are part of the time, of a plan that was searched and of one that was
// carried over.
TEST(TimerByPlan, KnowsHowMessagesTravel) {
  const Graph graph = open_model("zoo:nin")->graph()->graph;
  const compress::Groups groups = *compress::find_groups(graph);
  const plan::ClusterProfile cluster = *plan::find_cluster("3xpi3/wifi-94");
  const Graph whole = *passes::optimize(graph);
  plan::WireOptions wire{.smallest = plan::WireFormat::kI8, .error = 1, .inputs = true};
  wire.largest[whole[whole.inputs()[0]].name] = 1;
  for (const Node& node : whole.nodes()) wire.largest[whole[node.outputs[0]].name] = 1;
  const StepTimer plain = timer_by_plan(cluster), rounded = timer_by_plan(cluster, wire);
  for (uint64_t seed = 1; seed <= 5; ++seed) {  // three of them are searched for
    const Graph narrow =
        *passes::optimize(*compress::remove(graph, groups, drawn_units(groups, seed, 1)));
    const auto wide_time = plain(narrow), narrow_time = rounded(narrow);
    ASSERT_TRUE(wide_time.ok() && narrow_time.ok());
    EXPECT_LT(narrow_time->ms, 0.99 * wide_time->ms);
    const auto plans = plan::make_plans(narrow, cluster, {.wire = wire});
    EXPECT_NEAR(narrow_time->ms, 1e3 * plans->front().timeline.seconds, 0.1 * narrow_time->ms);
    for (const StepTime& step : narrow_time->steps) EXPECT_GE(step.ms, 0) << step.value;
  }
}

// A worker alone takes what its profile says, wherever its link leads.
TEST(TimerByPlan, OfOneWorkerIsTheTimeByItsProfile) {
  const Graph network = open_model("zoo:lenet5")->graph()->graph;
  const auto one = timer_by_plan(*plan::find_cluster("pi4"))(network);
  const auto alone = timer_by(plan::find_device("pi4")->profile())(network);
  ASSERT_TRUE(one.ok() && alone.ok());
  EXPECT_NEAR(one->ms, alone->ms, 0.05 * alone->ms);
}

}  // namespace
}  // namespace shoal::shrink
