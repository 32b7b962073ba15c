// The devices of one machine as workers of a cluster inside the process.
#include "shoal/cluster/device/board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <climits>

#include "here.h"
#include "random_plan.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/cluster/profiling/worker_probe.h"
#include "shoal/engine/device/wrapped.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {
namespace {

// The reference, which counts its runs, and is lost after some of them.
class Counted final : public WrappedDevice {
 public:
  explicit Counted(std::atomic<int>& runs, int most = INT_MAX)
      : WrappedDevice(make_reference_device()), runs_(runs), most_(most) {}

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, inner().compile(graph));
    return std::unique_ptr<Executable>(
        std::make_unique<Program>(std::move(executable), runs_, most_));
  }

 private:
  class Program final : public WrappedExecutable {
   public:
    Program(std::unique_ptr<Executable> inner, std::atomic<int>& runs, int most)
        : WrappedExecutable(std::move(inner)), runs_(runs), most_(most) {}
    Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
               const RunOptions& options) override {
      if (++runs_ > most_) return Status(Code::kUnavailable, "the device is gone");
      return WrappedExecutable::run(inputs, outputs, options);
    }

   private:
    std::atomic<int>& runs_;
    const int most_;
  };

  std::atomic<int>& runs_;
  const int most_;
};

// A processor, and one that is three times as fast; so slow that a plan uses both.
plan::ClusterProfile speeds() {
  plan::ClusterProfile profile;
  profile.workers = {plan::uniform_worker("cpu", 1e3, 1e3), plan::uniform_worker("gpu", 3e3, 3e3)};
  profile.links.resize(2);
  return profile;
}

class Boards : public testing::TestWithParam<Objective> {
 protected:
  std::unique_ptr<Device> open(int gpu_runs = INT_MAX) {
    std::vector<BoardDevice> devices;
    devices.push_back({"cpu", std::make_unique<Counted>(cpu_)});
    devices.push_back({"gpu", std::make_unique<Counted>(gpu_, gpu_runs)});
    auto board = start_board(std::move(devices));
    EXPECT_TRUE(board.ok()) << board.status().message();
    auto connection = connect_board(*std::move(board), {.profile = speeds()});
    EXPECT_TRUE(connection.ok()) << connection.status().message();
    return make_cluster_device(*std::move(connection), {.objective = GetParam()});
  }

  std::atomic<int> cpu_ = 0, gpu_ = 0;
};

TEST_P(Boards, AnswerAsEachDeviceAlone) {
  constexpr int kRequests = 16;
  const Graph graph = wide_layers();
  auto device = open();
  auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  device.reset();  // its executables keep the workers
  for (unsigned i = 0; i < kRequests; ++i) {
    plan::Rng rng(i);
    const std::vector<Tensor> inputs = {
        plan::random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    std::vector<Tensor> outputs(1);
    const Status status = (*executable)->run(inputs, outputs, {});
    ASSERT_TRUE(status.ok()) << status.message();
    plan::expect_near(outputs, run_whole(graph, inputs));
  }
  if (GetParam() == Objective::kLatency) {
    EXPECT_EQ(cpu_, kRequests) << "each request is split between both";
    EXPECT_EQ(gpu_, kRequests);
  } else {
    EXPECT_EQ(cpu_, kRequests / 4) << "requests are dealt out by speed";
    EXPECT_EQ(gpu_, kRequests * 3 / 4);
  }
}

TEST_P(Boards, GoOnWithoutADeviceThatIsGone) {
  const Graph graph = wide_layers();
  const std::vector<Tensor> inputs = {Tensor(graph[graph.inputs()[0]].type)};
  std::vector<Tensor> outputs(1);
  const auto device = open(2);
  const auto executable = *device->compile(graph);
  int before = 0;
  for (int i = 0; i < 18; ++i) {
    if (i == 12) before = gpu_;
    const Status status = executable->run(inputs, outputs, {});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  EXPECT_GT(before, 2) << "it was asked, and lost";
  EXPECT_EQ(gpu_, before) << "nobody asks it again";
}

INSTANTIATE_TEST_SUITE_P(Objectives, Boards,
                         testing::Values(Objective::kLatency, Objective::kThroughput),
                         [](const auto& test) {
                           return test.param == Objective::kLatency ? "Latency" : "Throughput";
                         });

// Whatever the speeds, a stream has nearly the sum of them.
TEST(Board, IsAsFastAsItsDevicesTogether) {
  for (const double times : {0.05, 0.4, 1.0, 2.7, 13.0, 60.0}) {
    plan::ClusterProfile profile = speeds();
    profile.workers[1] = plan::uniform_worker("gpu", 1e3 * times, 1e3 * times);
    const auto rate = [&](std::vector<int> excluded) {
      const auto plans =
          plan::make_stream_plans(wide_layers(), profile, {.excluded = std::move(excluded)});
      EXPECT_TRUE(plans.ok());
      return plans->front().requests_per_second();
    };
    EXPECT_GE(rate({}), 0.9 * (rate({0}) + rate({1}))) << times;
  }
}

TEST(Board, LeavesCoresToTheThreadsOfGpus) {
  EXPECT_EQ(cpu_threads_beside({"cpu", "opencl:0"}, 16), 15);
  EXPECT_EQ(cpu_threads_beside({"slow:10:vulkan:0", "cpu", "opencl:0"}, 16), 14);
  EXPECT_EQ(cpu_threads_beside({"cpu", "opencl:0", "opencl:1", "opencl:2"}, 4), 2);
  EXPECT_EQ(cpu_threads_beside({"cpu", "opencl:0"}, 2), 0) << "half of them would be too many";
  EXPECT_EQ(cpu_threads_beside({"cpu", "reference"}, 16), 0);
}

TEST(Board, MeasuresDevicesAndNamesThoseThatAreNotThere) {
  auto board = start_board("cpu+reference", {.cpu = {.threads = 1}});
  ASSERT_TRUE(board.ok()) << board.status().message();
  ASSERT_EQ(board->workers.size(), 2u);
  EXPECT_EQ(board->workers[1].name, "reference");
  const auto state = WorkerProbe::open(board->workers[1], *board->transport)->state();
  ASSERT_TRUE(state.ok()) << state.status().message();
  EXPECT_TRUE(state->processor.starts_with("reference, ")) << state->processor;
  auto connection = connect_board(*std::move(board));
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  const auto profile = (*connection)->profile(wide_layers());
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_TRUE(profile->workers[0].present && profile->workers[1].present);
  EXPECT_FALSE((*connection)->shares_machine()) << "they do not slow each other down";

  EXPECT_EQ(start_board("cpu+gpu:7", {}).status().code(), Code::kNotFound);
  EXPECT_EQ(start_board("", {}).status().code(), Code::kNotFound);
  EXPECT_EQ(start_board("cpu+cpu", {}).status().message(), "a board has cpu twice");
  EXPECT_FALSE(start_board(std::vector<BoardDevice>()).ok());
}

}  // namespace
}  // namespace shoal::cluster
