// Plans carried out by workers that talk to each other, in one process.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "given_speeds.h"
#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/coding/protect.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/wire_format.h"
#include "stream_faults.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using plan::Rng;

TEST(Wire, GraphsComeBackAsTheyWere) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    const Graph graph = plan::random_network(rng);
    std::map<Hash, Tensor> apart;
    const std::string bytes = to_bytes(graph, [&](const Tensor& tensor) {
      return apart.emplace(hash_of(tensor.bytes()), tensor).first->first;
    });
    const auto back = graph_from(bytes, [&](const Hash& hash, const TensorType&) {
      const auto it = apart.find(hash);
      return it == apart.end() ? Tensor() : it->second;
    });
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(to_text(*back), to_text(graph));
  }
}

TEST(Wire, WeightsThatAreNotThereAreMissed) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1024}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {1024}}));
  graph.mark_output(*graph.add(ops::add, {x, w}));
  size_t apart = 0;
  const std::string bytes = to_bytes(graph, [&](const Tensor& tensor) {
    ++apart;
    return hash_of(tensor.bytes());
  });
  EXPECT_EQ(apart, 1u);
  const auto back = graph_from(bytes, [](const Hash&, const TensorType&) { return Tensor(); });
  EXPECT_EQ(back.status().code(), Code::kNotFound);
}

// Whatever is cut off or changed, the answer is a status, or a graph that holds what graphs do.
TEST(Wire, DamageIsNoticedOrHarmless) {
  Rng rng(5);
  const Graph graph = plan::random_network(rng);
  const std::string bytes =
      to_bytes(graph, [](const Tensor& tensor) { return hash_of(tensor.bytes()); });
  const Find nothing = [](const Hash&, const TensorType& type) {
    return type.bytes() < 1 << 20 ? Tensor(type) : Tensor();
  };
  size_t accepted = 0, refused = 0;
  const auto check = [&](const std::string& damaged) {
    const auto back = graph_from(damaged, nothing);
    ++(back.ok() ? accepted : refused);
    if (!back.ok()) return;
    const Status status = verify(*back);
    EXPECT_TRUE(status.ok()) << status.message() << "\n" << to_text(*back);
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    check(bytes.substr(0, i));
    std::string changed = bytes;
    changed[i] = static_cast<char>(plan::draw(rng, 0, 255));
    check(changed);
  }
  EXPECT_GT(accepted, 0u) << "a byte of a name changes nothing else";
  EXPECT_GT(refused, bytes.size() / 4);
}

TEST(Cluster, GivesTheAnswerOfTheWhole) {
  Cluster cluster(4);
  for (unsigned seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    const Graph graph = plan::random_network(rng);
    if (graph.nodes().empty()) continue;
    const plan::Plan plan = plan::random_plan(rng, graph, 4);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(graph, plan));
    auto remote = cluster.coordinator().deploy(graph, plan);
    ASSERT_TRUE(remote.ok()) << remote.status().message();
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = (*remote)->run(inputs, outputs, 20s);
    ASSERT_TRUE(status.ok()) << status.message();
    plan::expect_near(outputs, run_whole(graph, inputs));
    if (HasFatalFailure()) return;
  }
}

// The caller gives f32, the coordinator sends fewer bytes.
TEST(Cluster, RoundsInputsThatTravelInFewerBytes) {
  Cluster cluster(3);
  size_t rounded = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const Graph graph = plan::random_network(rng);
    if (graph.nodes().empty()) continue;
    const plan::Plan plan = plan::random_plan(rng, graph, 3);
    const ValueId input = graph.inputs()[0];
    plan::WireOptions wire{.smallest = plan::WireFormat::kI8, .error = 1, .inputs = true};
    if (seed % 2 == 0) wire.smallest = plan::WireFormat::kF16;
    wire.largest[graph[input].name] = 3;
    const auto wired = plan::with_wire_format(graph, plan, *plan::make_schedule(graph, plan), wire);
    ASSERT_TRUE(wired.ok()) << wired.status().message();
    rounded += wired->graph[wired->graph.inputs()[0]].type.dtype != DType::kF32 ? 1 : 0;
    auto remote = cluster.coordinator().deploy(wired->graph, wired->plan);
    ASSERT_TRUE(remote.ok()) << remote.status().message();
    const std::vector<Tensor> inputs = {plan::random_tensor(rng, graph[input].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = (*remote)->run(inputs, outputs, 20s);
    ASSERT_TRUE(status.ok()) << status.message();
    plan::expect_near(outputs, run_whole(*plan::rounding_inputs(wired->graph), inputs));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(rounded, 20u);
}

// All of a test's workers share one clock, so that any measured difference is an error: times of
// two machines may be that wrong against each other.
double clock_error(const Coordinator& coordinator) {
  int64_t worst = 0;
  for (const WorkerInfo& info : coordinator.workers()) {
    worst = std::max(worst, std::abs(info.clock_ahead.value_or(0)));
  }
  return 2e-9 * static_cast<double>(worst);
}

// A task begins when all its inputs have arrived, and its outputs leave when it has ended: both on
// the clock of one machine. Transfers are timed by two.
void expect_causes_first(const Graph& graph, const plan::Plan& plan, const plan::Schedule& schedule,
                         const plan::Timeline& times, double error) {
  for (size_t i = 0; i < schedule.transfers.size(); ++i) {
    const plan::Transfer& transfer = schedule.transfers[i];
    const plan::Span& span = times.transfers[i];
    EXPECT_LT(0, span.begin + error);
    EXPECT_LE(span.begin, span.end + error);
    // Others may be late with elements that no task reads, such as rows that a window leaves out.
    if (transfer.to == plan::kCoordinator) {
      EXPECT_LE(span.end, times.seconds + error);
    }
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      const auto& tasks = plan.segments[s].tasks;
      for (size_t t = 0; t < tasks.size(); ++t) {
        const auto made = plan::live_after(graph, plan.segments[s].nodes);
        if (s == transfer.segment && tasks[t].worker == transfer.to) {
          EXPECT_LE(span.end, times.tasks[s][t].begin);
        }
        if (std::ranges::count(made, transfer.piece.value) > 0 &&
            tasks[t].worker == transfer.from) {
          EXPECT_LE(times.tasks[s][t].end, span.begin);
        }
      }
    }
  }
}

TEST(Cluster, MeasuresCausesBeforeEffects) {
  Cluster cluster(4);
  for (unsigned seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    const Graph graph = plan::random_network(rng);
    if (graph.nodes().empty()) continue;
    const plan::Plan plan = plan::random_plan(rng, graph, 4);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + to_text(graph, plan));
    auto remote = cluster.coordinator().deploy(graph, plan, true);
    ASSERT_TRUE(remote.ok()) << remote.status().message();
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    plan::Timeline times;
    const Status status = (*remote)->run(inputs, outputs, 20s, &times);
    ASSERT_TRUE(status.ok()) << status.message();
    expect_causes_first(graph, plan, *plan::make_schedule(graph, plan), times,
                        clock_error(cluster.coordinator()));
    if (HasFailure()) return;
  }
}

TEST(Cluster, AnswersManyRequestsAtOnce) {
  Cluster cluster(3);
  Rng rng(7);
  const Graph graph = plan::random_network(rng);
  const plan::Plan plan = plan::random_plan(rng, graph, 3);
  auto remote = cluster.coordinator().deploy(graph, plan);
  ASSERT_TRUE(remote.ok());
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      Rng mine(caller);
      for (int i = 0; i < 10; ++i) {
        const std::vector<Tensor> inputs = {
            plan::random_tensor(mine, graph[graph.inputs()[0]].type.shape)};
        std::vector<Tensor> outputs(1);
        const Status status = (*remote)->run(inputs, outputs, 20s);
        ASSERT_TRUE(status.ok()) << status.message();
        plan::expect_near(outputs, run_whole(graph, inputs));
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Cluster, SaysWhichWorkerIsGone) {
  Cluster cluster(2);
  Rng rng(7);
  const Graph graph = plan::random_network(rng);
  plan::Plan plan;
  const plan::NodeRange all{0, graph.nodes().size()};
  plan.segments.push_back({all, "", *plan::tasks_of(graph, all, {plan::Cut::kNone, {1}, {1}, 1})});
  auto remote = cluster.coordinator().deploy(graph, plan);
  ASSERT_TRUE(remote.ok());
  cluster.worker(1).stop();
  const std::vector<Tensor> inputs = {
      plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
  std::vector<Tensor> outputs(1);
  const Status status = (*remote)->run(inputs, outputs, 20s);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("worker-1"), std::string_view::npos) << status.message();
}

// Runs a model on all of a cluster while one worker is lost, and goes on without it.
class Losing {
 public:
  Losing(Coordinator& coordinator, const Graph& graph) : graph_(graph) {
    device_ = make_cluster_device(
        with_speeds(coordinator, [&] { return slow_workers(coordinator.worker_count()); }),
        {.timeout = 20s,
         .retry_interval = 0ms,  // it is not looked for
         .planned = [this](const Graph&, const auto& plans) {
           used_ = plan::workers_of(plans.front().plan()).size();
         }});
    auto compiled = device_->compile(graph);
    EXPECT_TRUE(compiled.ok()) << compiled.status().message();
    executable_ = *std::move(compiled);
  }

  Status run() {
    Rng rng(11);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph_[graph_.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = executable_->run(inputs, outputs, {});
    if (status.ok()) plan::expect_near(outputs, run_whole(graph_, inputs));
    return status;
  }
  size_t used() const { return used_; }

 private:
  const Graph& graph_;
  std::atomic<size_t> used_ = 0;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Executable> executable_;
};

TEST(Cluster, GoesOnWithoutAWorkerThatIsLost) {
  const auto faults = std::make_shared<net::StreamFaultInjector>(net::Faults{});
  Cluster cluster(3, faults);
  const Graph graph = wide_layers();
  Losing losing(cluster.coordinator(), graph);
  ASSERT_EQ(losing.used(), 3u);
  EXPECT_TRUE(losing.run().ok());
  faults->cut_all();
  const Status status = losing.run();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(losing.used(), 2u);
  EXPECT_EQ(cluster.coordinator().lost(), std::vector<int>{2});
}

// Shares, parities and replicas on workers that are lost one after the other.
TEST(Cluster, AnswersWithoutTheLostWhereThePlanSurvivesThem) {
  Rng rng(5);
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 12, 12}});
  for (int64_t in : {4, 12}) {
    const ValueId w = graph.add_constant("w", plan::random_tensor(rng, {12, in, 3, 3}));
    x = *graph.add(ops::relu, {*graph.add(ops::conv, {x, w})});
  }
  graph.mark_output(*graph.add(ops::global_average_pool, {x}));
  const plan::Layout layout{plan::Cut::kChannels, {0, 1, 2}, {1, 1, 1}, 1};
  plan::Plan plan;
  for (const plan::NodeRange nodes : {plan::NodeRange{0, 2}, {2, 5}}) {
    plan.segments.push_back({nodes, layout.describe(), *plan::tasks_of(graph, nodes, layout)});
  }
  const std::vector<Tensor> inputs = {plan::random_tensor(rng, {1, 4, 12, 12})};
  const std::vector<Tensor> want = run_whole(graph, inputs);
  for (const std::vector<size_t>& lost :
       std::vector<std::vector<size_t>>{{0}, {3}, {1, 2}, {2, 4}, {3, 4}}) {
    const int losses = static_cast<int>(lost.size());
    std::vector<int> workers = {0, 1, 2, 3};
    if (losses == 2) workers.push_back(4);
    const auto made = plan::protect(graph, plan, losses, workers);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->plan.codes.size(), 2u);
    Cluster cluster(static_cast<int>(workers.size()));
    const bool traced = losses == 2;  // the lost need not say how long it took them
    auto remote = cluster.coordinator().deploy(made->graph, made->plan, traced);
    ASSERT_TRUE(remote.ok()) << remote.status().message();
    for (size_t i = 0; i <= lost.size(); ++i) {
      std::vector<Tensor> outputs(1);
      plan::Timeline times;
      const Status status = (*remote)->run(inputs, outputs, 20s, traced ? &times : nullptr);
      ASSERT_TRUE(status.ok()) << status.message();
      plan::expect_near(outputs, want);
      if (i < lost.size()) cluster.worker(lost[i]).stop();
    }
  }
}

// As when its power is cut: peers do not even see the end of a connection.
TEST(Cluster, NoticesAWorkerThatFallsSilent) {
  const auto faults = std::make_shared<net::StreamFaultInjector>(net::Faults{});
  Cluster cluster(3, faults, {}, Cluster::reference, net::ChannelOptions{});
  const Graph graph = wide_layers();
  Losing losing(cluster.coordinator(), graph);
  EXPECT_TRUE(losing.run().ok());
  faults->mute_all();
  const Status status = losing.run();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(losing.used(), 2u);
}

}  // namespace
}  // namespace shoal::cluster
