// What travels in fewer bytes: how many, and what that does to the answer.
#include "shoal/plan/search/wire_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {
namespace {

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (float x : tensor.data<float>()) largest = std::max(largest, std::abs(double{x}));
  return largest;
}

// Between workers, all of it and what is f32.
struct Travelling {
  int64_t bytes = 0, wide = 0;
};
Travelling travelling(const Graph& graph, const Schedule& schedule) {
  Travelling sum;
  for (const Transfer& transfer : schedule.transfers) {
    if (transfer.from == kCoordinator || transfer.to == kCoordinator) continue;
    const int64_t bytes = bytes_of(graph, transfer.piece);
    sum.bytes += bytes;
    if (graph[transfer.piece.value].type.dtype == DType::kF32) sum.wide += bytes;
  }
  return sum;
}

// The magnitudes that the nodes' outputs have for these inputs.
WireOptions options_for(const Graph& graph, Device& device, const std::vector<Tensor>& inputs,
                        WireFormat format, double error) {
  WireOptions options{format, error, {}};
  Graph all = graph;
  for (const Node& node : graph.nodes()) all.mark_output(node.outputs[0]);
  const std::vector<Tensor> values = run_whole(all, device, inputs);
  for (size_t i = 0; i < values.size(); ++i) {
    options.largest[graph[all.outputs()[i]].name] = static_cast<float>(largest_of(values[i]));
  }
  return options;
}

class Wire : public testing::TestWithParam<WireFormat> {};

TEST_P(Wire, KeepsTheAnswerWithinTheStatedError) {
  const auto device = make_cpu_device({.threads = 1});
  const ClusterProfile cluster = uniform_cluster(3, *find_device("pi3"), *find_link("wifi-32"));
  for (const char* model : {"lenet5", "nin", "allcnn", "encoder"}) {
    const Graph graph = *passes::optimize(*zoo::build(model));
    Rng rng(1);
    const std::vector<Tensor> inputs = {random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    for (Cut cut : {Cut::kRows, Cut::kChannels}) {
      SCOPED_TRACE(std::string(model) + " " + std::string(name_of(cut)));
      PlanOptions options{.cuts = {cut}, .forced = true, .most_nodes = 1};
      options.wire = options_for(graph, *device, inputs, GetParam(), 0.05);
      const auto plans = make_plans(graph, cluster, options);
      ASSERT_TRUE(plans.ok()) << plans.status().message();
      const auto narrow =
          std::ranges::find_if(*plans, [](const Prediction& made) { return made.error > 0; });
      ASSERT_NE(narrow, plans->end());
      EXPECT_LE(narrow->error, options.wire.error);
      ASSERT_TRUE(verify(narrow->graph(), narrow->plan(), 3).ok());
      const std::vector<Tensor> got = run_here(narrow->graph(), narrow->plan(), *device, inputs);
      double worst = 0;
      for (size_t i = 0; i < want[0].data<float>().size(); ++i) {
        const double difference = double{got[0].data<float>()[i]} - want[0].data<float>()[i];
        worst = std::max(worst, std::abs(difference));
      }
      EXPECT_LE(worst, options.wire.error * largest_of(want[0]));
      EXPECT_GT(worst, 0);
    }
  }
}

TEST_P(Wire, TakesFewerBytes) {
  const Graph graph = *passes::optimize(*zoo::build("nin"));
  const ClusterProfile cluster = uniform_cluster(4, *find_device("pi4"), *find_link("gigabit"));
  const auto plans =
      make_plans(graph, cluster, {.cuts = {Cut::kRows}, .forced = true, .most_nodes = 1});
  ASSERT_TRUE(plans.ok());
  const Prediction& plain = plans->front();
  WireOptions options{GetParam(), 1, {}};
  for (const Node& node : graph.nodes()) options.largest[graph[node.outputs[0]].name] = 1;
  const int64_t before = travelling(graph, plain.schedule()).bytes;
  for (double error : {0.0, 1.0}) {
    options.error = error;
    const auto wired = with_wire_format(graph, plain.plan(), plain.schedule(), options);
    ASSERT_TRUE(wired.ok());
    const auto after = travelling(wired->graph, *make_schedule(wired->graph, wired->plan));
    const int64_t fewer = error == 0 ? 1 : GetParam() == WireFormat::kF16 ? 2 : 4;
    EXPECT_EQ(after.bytes * fewer, before);
    EXPECT_EQ(after.wide, error == 0 ? before : 0);
  }
}

// The image of a plan is sent like everything else; the coordinator rounds it, and a graph that
// rounds it itself gives the expected result.
TEST_P(Wire, RoundsInputsWhereItMay) {
  const auto device = make_cpu_device({.threads = 1});
  const ClusterProfile cluster = uniform_cluster(3, *find_device("pi3"), *find_link("wifi-32"));
  for (const char* model : {"lenet5", "nin"}) {
    SCOPED_TRACE(model);
    const Graph graph = *passes::optimize(*zoo::build(model));
    Rng rng(2);
    const std::vector<Tensor> inputs = {random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    PlanOptions how{.cuts = {Cut::kRows}, .forced = true};
    const Prediction plain = make_plans(graph, cluster, how)->front();
    how.wire = options_for(graph, *device, inputs, GetParam(), 1);
    how.wire.largest[graph[graph.inputs()[0]].name] = static_cast<float>(largest_of(inputs[0]));
    how.wire.inputs = true;
    const auto wired = with_wire_format(graph, plain.plan(), plain.schedule(), how.wire);
    ASSERT_TRUE(wired.ok()) << wired.status().message();
    ASSERT_TRUE(verify(wired->graph, wired->plan, 3).ok());
    const DType narrow = GetParam() == WireFormat::kF16 ? DType::kF16 : DType::kI8;
    EXPECT_EQ(wired->graph[wired->graph.inputs()[0]].type.dtype, narrow);
    const Tensor sent = as_sent(wired->graph, 0, inputs[0]);
    ASSERT_EQ(sent.dtype(), narrow);
    EXPECT_EQ(as_sent(graph, 0, inputs[0]).dtype(), DType::kF32);
    const std::vector<Tensor> got = run_here(wired->graph, wired->plan, *device, {sent});
    const std::vector<Tensor> whole = run_whole(*rounding_inputs(wired->graph), *device, inputs);
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    double apart = 0, error = 0;
    for (size_t i = 0; i < want[0].data<float>().size(); ++i) {
      const double one = double{got[0].data<float>()[i]};
      apart = std::max(apart, std::abs(one - double{whole[0].data<float>()[i]}));
      error = std::max(error, std::abs(one - double{want[0].data<float>()[i]}));
    }
    // Parts add in another order than the whole, which may round a message to the next step.
    EXPECT_LE(apart, 5e-4 * largest_of(want[0]));
    EXPECT_GT(error, 0);
    EXPECT_LE(error, wired->error * largest_of(want[0]));
  }
}

TEST(WireFormats, RoundNothingToF16ThatItCannotHold) {
  const Graph graph = *passes::optimize(*zoo::build("nin"));
  const ClusterProfile cluster = uniform_cluster(4, *find_device("pi4"), *find_link("gigabit"));
  const auto plans =
      make_plans(graph, cluster, {.cuts = {Cut::kRows}, .forced = true, .most_nodes = 1});
  ASSERT_TRUE(plans.ok());
  const Prediction& plain = plans->front();
  WireOptions options{WireFormat::kF16, 1, {}};
  for (const Node& node : graph.nodes()) options.largest[graph[node.outputs[0]].name] = 65505;
  const auto wired = with_wire_format(graph, plain.plan(), plain.schedule(), options);
  ASSERT_TRUE(wired.ok());
  EXPECT_EQ(wired->error, 0);
  const auto after = travelling(wired->graph, *make_schedule(wired->graph, wired->plan));
  EXPECT_GT(after.bytes, 0);
  EXPECT_EQ(after.wide, after.bytes);
}

INSTANTIATE_TEST_SUITE_P(Formats, Wire, testing::Values(WireFormat::kF16, WireFormat::kI8),
                         [](const auto& format) { return std::string(name_of(format.param)); });

}  // namespace
}  // namespace shoal::plan
