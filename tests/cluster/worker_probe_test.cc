// What workers say when they are asked, and what follows for plans.
#include "shoal/cluster/profiling/worker_probe.h"

#include <gtest/gtest.h>

#include <optional>

#include "messages.pb.h"
#include "random_plan.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/cluster/net/channel/loopback.h"
#include "shoal/cluster/profiling/probe_handlers.h"
#include "shoal/cluster/profiling/profiling.h"
#include "shoal/cluster/worker/worker.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/search/planner.h"
#include "unhurried.h"

namespace shoal::cluster {
namespace {

// Workers in one process, each behind an address that is its name.
class WorkerProbes : public testing::Test {
 protected:
  WorkerProbes() {
    for (const char* name : {"left", "right"}) start({.name = name});
  }
  void start(WorkerOptions options) {
    const std::string name = options.name;
    workers_.push_back({name, name});
    devices_.push_back(make_reference_device());
    transports_.push_back(network_.transport(name, unhurried(), net::Role::kWorker));
    serving_.push_back(
        std::make_unique<Worker>(std::move(options), *devices_.back(), *transports_.back()));
    serving_.back()->serve(*transports_.back()->listen(name));
  }
  // Those that could be measured; the others are not present.
  Result<plan::ClusterProfile> measure(const Graph& graph) {
    SHOAL_ASSIGN(auto measured,
                 measure_workers(graph, workers_, *asking_, {.seconds_per_node = 0}));
    std::vector<std::optional<MeasuredWorker>> known;
    for (auto& one : measured) {
      known.push_back(one.ok() ? std::optional(*std::move(one)) : std::nullopt);
    }
    return assemble(workers_, known);
  }
  Result<WorkerProbe> ask(const ListedWorker& worker) {
    return WorkerProbe::open(worker, *asking_);
  }
  static Graph random_network(unsigned seed) {
    plan::Rng rng(seed);
    return plan::random_network(rng);
  }

  net::LoopbackNetwork network_;
  std::unique_ptr<net::Transport> asking_ = network_.transport("coordinator", unhurried());
  std::vector<std::unique_ptr<net::Transport>> transports_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Worker>> serving_;
  std::vector<ListedWorker> workers_;
};

TEST_F(WorkerProbes, TellHowAWorkerIs) {
  auto probe = ask(workers_[0]);
  ASSERT_TRUE(probe.ok()) << probe.status().message();
  const auto state = probe->state();
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_EQ(state->threads, 1);
  EXPECT_GT(state->memory_bytes, 0u);
  EXPECT_EQ(state->plans, 0u);
}

TEST_F(WorkerProbes, ShowAWorkerAsItIsNow) {
  workers_.push_back({"kitchen", "nowhere"});
  const auto all = inspect_workers(workers_, *asking_);
  ASSERT_EQ(all.size(), 3u);
  const auto& seen = all[1];
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(seen->state.threads, 1);
  EXPECT_GT(seen->link.bytes_per_second, 0);
  EXPECT_GT(seen->macs_per_second, 1e3);
  EXPECT_LT(seen->macs_per_second, 1e15);
  EXPECT_GE(seen->state.slowdown, 1);
  EXPECT_EQ(all[2].status().code(), Code::kUnavailable);
}

TEST_F(WorkerProbes, NameTheWorkerThatIsNotThere) {
  const auto nobody = ask({"kitchen", "nowhere"});
  EXPECT_NE(nobody.status().message().find("worker kitchen"), std::string_view::npos);
  const auto other = ask({"kitchen", "left"});
  EXPECT_EQ(other.status().code(), Code::kUnavailable);
  EXPECT_NE(other.status().message().find("left"), std::string_view::npos);
}

TEST_F(WorkerProbes, MeasureTheWay) {
  auto probe = ask(workers_[0]);
  const auto link = probe->measure_link();
  ASSERT_TRUE(link.ok()) << link.status().message();
  EXPECT_GT(link->latency_seconds, 0);
  EXPECT_GT(link->bytes_per_second, 1e3);
  EXPECT_GE(link->wakeup_seconds, 0);
}

TEST_F(WorkerProbes, TimeGraphsThatLookTheSameOnce) {
  const Graph graph = random_network(3);
  const std::vector<Graph> graphs = {graph, random_network(4), graph};
  auto probe = ask(workers_[0]);
  const auto seconds = probe->time(graphs, 0);
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  ASSERT_EQ(seconds->size(), 3u);
  EXPECT_GT(*seconds->at(1), 0);
  EXPECT_EQ(seconds->at(0), seconds->at(2));
}

TEST_F(WorkerProbes, GiveProfilesThatPlansCanBeMadeFrom) {
  const Graph graph = random_network(5);
  const auto profile = measure(graph);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->workers.size(), 2u);
  EXPECT_EQ(profile->workers[1].name, "right");
  for (const Node& node : graph.nodes()) {
    EXPECT_GT(profile->workers[0].correction_of(graph[node.outputs[0]].name), 0);
  }
  const auto plans = plan::make_plans(graph, *profile);
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  EXPECT_GT(plans->front().timeline.seconds, 0);
}

// Two products with a weight each, the second four times as large.
Graph two_products() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 64}});
  const ValueId small = graph.add_constant("small", Tensor({DType::kF32, {64, 64}}));
  const ValueId large = graph.add_constant("large", Tensor({DType::kF32, {64, 256}}));
  const ValueId y = *graph.add(ops::mat_mul, {x, small});
  graph.mark_output(*graph.add(ops::mat_mul, {y, large}));
  return graph;
}

// A device that cannot hold the whole model, or some node of it, is measured at the rest.
TEST_F(WorkerProbes, MeasureByPartsWhatDoesNotFit) {
  const Graph graph = two_products();
  constexpr size_t kSmall = 64 * 64 * 4, kLarge = 4 * kSmall, kValues = 4096;
  constexpr size_t kLargePart = kLarge + kValues, kSmallPart = kSmall + kValues;
  start({.name = "no whole", .weight_bytes = kLargePart, .plan_bytes = kLargePart});
  start({.name = "no large", .weight_bytes = kSmallPart, .plan_bytes = kSmallPart});
  const auto profile = measure(graph);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->workers.size(), 4u);
  for (const plan::WorkerProfile& worker : profile->workers) {
    EXPECT_TRUE(worker.present) << worker.name;
    EXPECT_GT(worker.speed_of("MatMul").seconds_per_byte, 0) << worker.name;
  }
  EXPECT_EQ(profile->workers[2].memory_bytes, kLarge + kValues);
  EXPECT_EQ(profile->workers[2].corrections.size(), 2u);
  EXPECT_EQ(profile->workers[3].corrections.size(), 1u);
  plan::PlanOptions options;
  options.excluded = {0, 1};
  const auto plans = plan::make_plans(graph, *profile, options);
  EXPECT_TRUE(plans.ok()) << "it fits the two together: " << plans.status().message();
}

TEST_F(WorkerProbes, LeaveOutWorkersThatCannotBeMeasured) {
  start({.name = "tiny", .weight_bytes = 16, .plan_bytes = 16});
  workers_.push_back({"kitchen", "nowhere"});
  const auto measured =
      measure_workers(two_products(), workers_, *asking_, {.seconds_per_node = 0});
  ASSERT_TRUE(measured.ok()) << measured.status().message();
  EXPECT_TRUE((*measured)[1].ok());
  EXPECT_EQ((*measured)[2].status().code(), Code::kExhausted);
  EXPECT_NE((*measured)[2].status().message().find("worker tiny"), std::string_view::npos);
  EXPECT_EQ((*measured)[3].status().code(), Code::kUnavailable);
  const auto profile = measure(two_products());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(count_present(*profile), 2u);
  EXPECT_EQ(profile->workers[3].name, "kitchen");
  EXPECT_LT(profile->coordinator.bytes_per_second, 1e18);
}

// Whatever a peer asks for, it gets an answer or a reason.
TEST_F(WorkerProbes, SurviveQuestionsThatMakeNoSense) {
  const auto channel = *asking_->connect("left", net::after(kMessageTimeout));
  const auto ask_for = [&](const message::Message& question, const std::string& payload) {
    const net::Bytes bytes = bytes_of(payload);
    EXPECT_TRUE(send(*channel, question, std::span(&bytes, payload.empty() ? 0 : 1)).ok());
    message::Message reply;
    EXPECT_TRUE(parse(*channel->receive(net::after(kMessageTimeout)), reply).ok());
    return reply;
  };
  message::Message echo;
  echo.mutable_echo()->set_reply_bytes(kMostEchoBytes + 1);
  EXPECT_TRUE(ask_for(echo, "").has_failed());
  message::Message measure;
  measure.mutable_measure()->set_seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ask_for(measure, "").measured().seconds_size(), 0);
  message::Graphs many;
  for (int i = 0; i <= kMostMeasuredGraphs; ++i) many.add_graphs();
  EXPECT_TRUE(ask_for(measure, many.SerializeAsString()).has_failed());
  EXPECT_TRUE(ask(workers_[0]).ok()) << "it goes on";
  EXPECT_TRUE(ask_for(measure, "no graphs").has_failed());
}

}  // namespace
}  // namespace shoal::cluster
