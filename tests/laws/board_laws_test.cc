// The processor and the GPUs of one machine as the workers of a plan answer as each alone.
#include "gpu_fixture.h"
#include "shoal/cluster/device/board.h"
#include "shoal/cluster/device/cluster_device.h"
#include "shoal/engine/opencl/opencl.h"
#include "shoal/engine/vulkan/vulkan.h"

namespace shoal::laws {
namespace {

using cluster::Objective;

class Board : public testing::TestWithParam<Objective> {};

TEST_P(Board, AnswersAsTheReference) {
  auto opencl = make_opencl_device();
  auto vulkan = make_vulkan_device();
  if (!opencl.ok()) GTEST_SKIP() << opencl.status().message();
  if (!vulkan.ok()) GTEST_SKIP() << vulkan.status().message();
  std::vector<cluster::BoardDevice> devices;
  const auto add = [&](const std::string& name, std::unique_ptr<Device> device) {
    devices.push_back({name, make_hybrid_device(std::move(device), make_reference_device())});
  };
  add("cpu", make_cpu_device({.threads = 1, .tune = Tune::kOff}));
  add("opencl", *std::move(opencl));
  add("vulkan", *std::move(vulkan));
  plan::ClusterProfile speeds;
  for (const cluster::BoardDevice& each : devices) {
    // So slow that every plan uses all of them.
    speeds.workers.push_back(plan::uniform_worker(each.name, 1, 1));
    speeds.links.emplace_back();
  }
  auto board = cluster::start_board(std::move(devices));
  ASSERT_TRUE(board.ok()) << board.status().message();
  auto connection = cluster::connect_board(*std::move(board), {.profile = speeds});
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  const auto device =
      cluster::make_cluster_device(*std::move(connection), {.objective = GetParam()});
  const Graph graph = *passes::optimize(*small_network("lenet5", 2, 0.5));
  auto executable = device->compile(graph);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const auto reference = *make_reference_device()->compile(graph);
  for (unsigned request = 0; request < 3; ++request) {
    Rng rng(request);
    const std::vector<Tensor> inputs = {random_tensor(rng, graph[graph.inputs()[0]].type.shape)};
    std::vector<Tensor> got(1), want(1);
    ASSERT_TRUE((*executable)->run(inputs, got, {}).ok());
    ASSERT_TRUE(reference->run(inputs, want, {}).ok());
    expect_same(got[0], want[0], 1e-4f);
  }
}

INSTANTIATE_TEST_SUITE_P(Objectives, Board,
                         testing::Values(Objective::kLatency, Objective::kThroughput),
                         [](const auto& test) {
                           return test.param == Objective::kLatency ? "Latency" : "Throughput";
                         });

}  // namespace
}  // namespace shoal::laws
