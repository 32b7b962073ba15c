#include "gpu_fixture.h"
#include "shoal/vulkan/vulkan.h"

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

INSTANTIATE_TEST_SUITE_P(Zoo, VulkanNetworks, kNetworks,
                         [](const auto& network) { return network.param; });

INSTANTIATE_TEST_SUITE_P(LocalMemory, Vulkan,
                         testing::Values(GpuLocalMemory::kOff, GpuLocalMemory::kOn),
                         local_memory_name);

}  // namespace
}  // namespace shoal::laws
