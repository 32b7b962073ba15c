#include "gpu_fixture.h"
#include "shoal/engine/opencl/opencl.h"

namespace shoal::laws {
namespace {

class OpenCl : public testing::TestWithParam<GpuLocalMemory> {};

TEST_P(OpenCl, AgreesWithTheReference) {
  auto device = make_opencl_device({.local_memory = GetParam()});
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_as_the_reference(**device);
}

class OpenClNetworks : public testing::TestWithParam<std::string> {};

TEST_P(OpenClNetworks, AnswerAsOnTheCpu) {
  auto device = make_opencl_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_network_as_on_the_cpu(*std::move(device), GetParam());
}

TEST(OpenClTraining, StaysOnTheDevice) {
  auto device = make_opencl_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_whole_steps(**device);
}

TEST(OpenClTraining, LearnsAsOnTheCpu) {
  auto device = make_opencl_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_training_as_on_the_cpu(*std::move(device));
}

class OpenClSteps : public testing::TestWithParam<GpuLocalMemory> {};

TEST_P(OpenClSteps, AgreeWithTheReference) {
  const bool is_local = GetParam() == GpuLocalMemory::kOn;
  auto device = make_opencl_device({.local_memory = GetParam()});
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_step_as_the_reference(*std::move(device), is_local ? "resnet20" : "lenet5",
                               is_local ? kSgd : kAdam);
}

INSTANTIATE_TEST_SUITE_P(Zoo, OpenClNetworks, kNetworks,
                         [](const auto& network) { return network.param; });

INSTANTIATE_TEST_SUITE_P(LocalMemory, OpenClSteps,
                         testing::Values(GpuLocalMemory::kOff, GpuLocalMemory::kOn),
                         local_memory_name);

INSTANTIATE_TEST_SUITE_P(LocalMemory, OpenCl,
                         testing::Values(GpuLocalMemory::kOff, GpuLocalMemory::kOn),
                         local_memory_name);

}  // namespace
}  // namespace shoal::laws
