#include "gpu_fixture.h"
#include "shoal/engine/vulkan/vulkan.h"

namespace shoal::laws {
namespace {

class Vulkan : public testing::TestWithParam<GpuLocalMemory> {};

TEST_P(Vulkan, AgreesWithTheReference) {
  auto device = make_vulkan_device({.local_memory = GetParam()});
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_as_the_reference(**device);
}

class VulkanNetworks : public testing::TestWithParam<std::string> {};

TEST_P(VulkanNetworks, AnswerAsOnTheCpu) {
  auto device = make_vulkan_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_network_as_on_the_cpu(*std::move(device), GetParam());
}

TEST(VulkanTraining, StaysOnTheDevice) {
  auto device = make_vulkan_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_whole_steps(**device);
}

TEST(VulkanTraining, LearnsAsOnTheCpu) {
  auto device = make_vulkan_device();
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_training_as_on_the_cpu(*std::move(device));
}

class VulkanSteps : public testing::TestWithParam<GpuLocalMemory> {};

TEST_P(VulkanSteps, AgreeWithTheReference) {
  const bool is_local = GetParam() == GpuLocalMemory::kOn;
  auto device = make_vulkan_device({.local_memory = GetParam()});
  if (!device.ok()) GTEST_SKIP() << device.status().message();
  expect_step_as_the_reference(*std::move(device), is_local ? "resnet20" : "lenet5",
                               is_local ? kSgd : kAdam);
}

INSTANTIATE_TEST_SUITE_P(Zoo, VulkanNetworks, kNetworks,
                         [](const auto& network) { return network.param; });

INSTANTIATE_TEST_SUITE_P(LocalMemory, VulkanSteps,
                         testing::Values(GpuLocalMemory::kOff, GpuLocalMemory::kOn),
                         local_memory_name);

INSTANTIATE_TEST_SUITE_P(LocalMemory, Vulkan,
                         testing::Values(GpuLocalMemory::kOff, GpuLocalMemory::kOn),
                         local_memory_name);

}  // namespace
}  // namespace shoal::laws
