// A cluster as a device: sessions with several requests at once, deadlines and cancellation.
#include "shoal/cluster/device/cluster_device.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "given_speeds.h"
#include "here.h"
#include "random_plan.h"
#include "shoal/engine/session/session.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<Device> device_of(Coordinator& coordinator, Objective objective) {
  return make_cluster_device(
      with_speeds(coordinator, [&] { return slow_workers(coordinator.worker_count()); }),
      {.objective = objective, .timeout = 60s});
}

Tensor random_input(const Graph& graph, unsigned seed) {
  plan::Rng rng(seed);
  return plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape);
}

class ClusterDevices : public testing::TestWithParam<Objective> {};

// Each request waits, before it sends anything, until another one is in progress.
TEST_P(ClusterDevices, AnswerSeveralRequestsOfASessionAtOnce) {
  constexpr unsigned kCallers = 4, kRequests = 6;
  std::latch submitted(kCallers);
  std::atomic<bool> is_held = false, were_together = true;
  Cluster cluster(3, nullptr, {.reached = [&](FaultPoint point, int) {
                    if (point != FaultPoint::kSubmitted || !is_held) return;
                    submitted.count_down();
                    if (!eventually([&] { return submitted.try_wait(); })) were_together = false;
                  }});
  const Graph graph = wide_layers();
  const auto device = device_of(cluster.coordinator(), GetParam());
  auto session = Session::open(graph, *device);
  ASSERT_TRUE(session.ok()) << session.status().message();
  is_held = true;
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (unsigned i = 0; i < kRequests; ++i) {
        const std::vector<Tensor> inputs = {random_input(graph, 10 * caller + i)};
        std::vector<Tensor> outputs(1);
        const Status status = session->run(inputs, outputs);
        ASSERT_TRUE(status.ok()) << status.message();
        plan::expect_near(outputs, run_whole(graph, inputs));
        is_held = false;  // once is enough
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_TRUE(were_together);
  EXPECT_EQ(cluster.coordinator().tally().answered, kCallers * kRequests);
}

// A worker that is held while it computes.
class HeldWorker {
 public:
  explicit HeldWorker(Cluster& cluster) : cluster_(cluster) {
    cluster.start(0, {.reached = [this](FaultPoint point) {
                    if (point != FaultPoint::kComputing || !is_held_) return;
                    is_computing_ = true;
                    EXPECT_TRUE(eventually([this] { return !is_held_; }));
                  }});
    EXPECT_TRUE(eventually([&] { return !cluster.coordinator().lost().empty(); }));
    EXPECT_TRUE(cluster.coordinator().revive(0).ok());
  }
  ~HeldWorker() {
    release();
    cluster_.worker(0).stop();
  }
  bool await_computing() const {
    return eventually([this] { return is_computing_.load(); });
  }
  void release() { is_held_ = false; }

 private:
  Cluster& cluster_;
  std::atomic<bool> is_held_ = true, is_computing_ = false;
};

TEST_P(ClusterDevices, EndARunThatIsCancelled) {
  Cluster cluster(1);
  HeldWorker worker(cluster);
  const Graph graph = wide_layers();
  const auto device = device_of(cluster.coordinator(), GetParam());
  const auto executable = *device->compile(graph);
  const std::vector<Tensor> inputs = {random_input(graph, 1)};
  std::vector<Tensor> outputs(1);
  std::stop_source source;
  std::thread caller([&] {
    EXPECT_TRUE(worker.await_computing());
    source.request_stop();
  });
  const Status status = executable->run(inputs, outputs, {.cancel = source.get_token()});
  caller.join();
  EXPECT_EQ(status.code(), Code::kCancelled) << status.message();
  EXPECT_EQ(executable->run(inputs, outputs, {.cancel = source.get_token()}).code(),
            Code::kCancelled);
  worker.release();
  const Status next = executable->run(inputs, outputs, {});
  EXPECT_TRUE(next.ok()) << next.message();
}

TEST_P(ClusterDevices, EndARunAtItsDeadline) {
  Cluster cluster(1);
  HeldWorker worker(cluster);
  const Graph graph = wide_layers();
  const auto device = device_of(cluster.coordinator(), GetParam());
  const auto executable = *device->compile(graph);
  const std::vector<Tensor> inputs = {random_input(graph, 1)};
  std::vector<Tensor> outputs(1);
  for (const auto deadline : {Deadline(), std::chrono::steady_clock::now() + 20ms}) {
    EXPECT_EQ(executable->run(inputs, outputs, {.deadline = deadline}).code(), Code::kDeadline);
  }
}

TEST_P(ClusterDevices, DeployNothingToTellTheirMemory) {
  Cluster cluster(2);
  const auto device = device_of(cluster.coordinator(), GetParam());
  EXPECT_EQ(device->memory_of(wide_layers()).status().code(), Code::kUnsupported);
}

// A worker that cannot be measured is no reason to fail.
TEST_P(ClusterDevices, LeaveOutAWorkerThatCannotBeMeasured) {
  Cluster cluster(2);
  const auto device =
      make_cluster_device(with_speeds(cluster.coordinator(),
                                      [] {
                                        plan::ClusterProfile profile = slow_workers(2);
                                        profile.workers[0] = plan::absent_worker(address_of(0));
                                        return profile;
                                      }),
                          {.objective = GetParam()});
  const Graph graph = wide_layers();
  cluster.worker(0).stop();
  const auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Tensor> inputs = {random_input(graph, 1)};
  std::vector<Tensor> outputs(1);
  const Status status = (*executable)->run(inputs, outputs, {});
  EXPECT_TRUE(status.ok()) << status.message();
}

// Machines that are busier than when they were measured, for long.
TEST(ClusterDevice, PlansForTheLoadThatLasts) {
  Cluster cluster(2);
  std::mutex mutex;
  std::vector<double> seconds;
  const auto busy = [] {
    plan::ClusterProfile profile = slow_workers(2);
    // So busy that now they are idle by comparison.
    for (plan::WorkerProfile& worker : profile.workers) worker.slowdown = 1e6;
    return profile;
  };
  const auto device = make_cluster_device(with_speeds(cluster.coordinator(), busy),
                                          {.retry_interval = 1ms,
                                           .load_interval = 1ms,
                                           .load = {.change = 2, .lasting = 1ms},
                                           .planned = [&](const Graph&, const auto& plans) {
                                             const std::lock_guard lock(mutex);
                                             seconds.push_back(plans.front().timeline.seconds);
                                           }});
  const auto executable = device->compile(wide_layers());
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return seconds.size() > 1 && seconds.back() < seconds.front() / 100;
  }));
}

// Two streams of one network: it is deployed once, and each has the worker that it was given, or
// another while that is lost.
TEST(ClientDevices, AnswerByTheWorkerThatTheirClientHas) {
  std::mutex mutex;
  std::vector<int> answered;
  std::atomic<int> profiled = 0, first = 2;
  Cluster cluster(3, nullptr, {.reached = [&](FaultPoint point, int worker) {
                    if (point != FaultPoint::kAnswerArrives) return;
                    const std::lock_guard lock(mutex);
                    answered.push_back(worker);
                  }});
  std::vector<Workers> sets;
  const auto devices = make_client_devices(
      with_speeds(cluster.coordinator(),
                  [&] {
                    ++profiled;
                    return slow_workers(3);
                  }),
      {.retry_interval = 1ms,
       .place =
           [&](const Graph&, const plan::ClusterProfile&, const Workers& set) {
             const std::lock_guard lock(mutex);
             if (sets.empty() || sets.back() != set) sets.push_back(set);
             return std::vector<int>{set.contains(first) ? first.load() : *set.begin(), 1};
           }},
      2);
  const Graph graph = wide_layers();
  std::vector<std::unique_ptr<Executable>> networks;
  for (const auto& device : devices) networks.push_back(*device->compile(graph));
  EXPECT_EQ(profiled, 1);
  const auto worker_of = [&](size_t client, unsigned seed) {
    const std::vector<Tensor> inputs = {random_input(graph, seed)};
    std::vector<Tensor> outputs(1);
    const Status status = networks[client]->run(inputs, outputs, {});
    EXPECT_TRUE(status.ok()) << status.message();
    if (status.ok()) plan::expect_near(outputs, run_whole(graph, inputs));
    const std::lock_guard lock(mutex);
    return answered.back();
  };
  for (unsigned i = 0; i < 4; ++i) {
    EXPECT_EQ(worker_of(0, i), 2);
    EXPECT_EQ(worker_of(1, i), 1);
  }
  first = 0;  // another is better now
  EXPECT_TRUE(eventually([&] { return worker_of(0, 7) == 0; }));
  cluster.worker(0).stop();
  EXPECT_NE(worker_of(0, 8), 0);
  EXPECT_EQ(worker_of(1, 9), 1);
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return sets.back() == Workers{1, 2};
  }));
  EXPECT_TRUE(eventually([&] { return worker_of(0, 10) == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Objectives, ClusterDevices,
                         testing::Values(Objective::kLatency, Objective::kThroughput),
                         [](const auto& test) {
                           return test.param == Objective::kLatency ? "Latency" : "Throughput";
                         });

}  // namespace
}  // namespace shoal::cluster
