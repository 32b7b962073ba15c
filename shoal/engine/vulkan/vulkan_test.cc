// The device on whatever Vulkan this machine has, and failures of a driver that are put in.
#include "shoal/engine/vulkan/vulkan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "shoal/base/files/temporary_folder.h"
#include "shoal/engine/device/failover.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/gpu/device/gpu_device_testing.h"
#include "shoal/engine/vulkan/compiler.h"
#include "shoal/engine/vulkan/vulkan_context.h"
#include "shoal/engine/vulkan/vulkan_executable.h"

namespace shoal::vulkan {
namespace {

using namespace gpu;  // the networks of its tests, and what compares answers

VulkanOptions options_of_test(const GpuTestOptions& options) {
  return {.precision = options.precision,
          .f32_layers = options.f32_layers,
          .local_memory = options.local_memory};
}

Result<std::unique_ptr<Device>> make_for_test(const GpuTestOptions& options) {
  return make_vulkan_device(options_of_test(options));
}

Result<std::unique_ptr<const Driver>> driver_for_test(const GpuTestOptions& options) {
  SHOAL_ASSIGN(const auto api, open_api());
  SHOAL_ASSIGN(auto context, Context::open(api, options_of_test(options)));
  return make_driver<VkExecutable>(std::move(context));
}

INSTANTIATE_TEST_SUITE_P(Vulkan, GpuDevice,
                         testing::Values(GpuMaker{"vulkan", make_for_test, driver_for_test}));

// What replaces functions of the machine has no state but this.
struct Faults {
  std::shared_ptr<const Api> real;
  int calls_before = 0;  // that still succeed
  int calls = 0;
  std::function<void(VkPhysicalDeviceProperties&)> garble;
};
Faults faults;

class Vulkan : public testing::Test {
 protected:
  void SetUp() override {
    const auto devices = vulkan_devices();
    if (!devices.ok()) GTEST_SKIP() << devices.status().message();
    faults = {*open_api(), 0, 0, {}};
    fake_ = std::make_shared<Api>(*faults.real);
  }

  // A device about which the driver says something else.
  Result<std::unique_ptr<Device>> make_garbled(
      std::function<void(VkPhysicalDeviceProperties&)> garble, const VulkanOptions& options = {}) {
    faults.garble = std::move(garble);
    fake_->vkGetPhysicalDeviceProperties = [](VkPhysicalDevice device,
                                              VkPhysicalDeviceProperties* properties) {
      faults.real->vkGetPhysicalDeviceProperties(device, properties);
      faults.garble(*properties);
    };
    return make_device_over(fake_, options);
  }

  std::shared_ptr<Api> fake_;
};

// Elements go through a buffer that the host reaches, where it does not reach the device's own.
TEST_F(Vulkan, ComputesInMemoryOfItsOwn) {
  const auto device = make_garbled([](VkPhysicalDeviceProperties& properties) {
    properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  });
  ASSERT_TRUE(device.ok()) << device.status().message();
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  const Tensor want = reference_answers(graph, x)[0];
  const auto executable = *(*device)->compile(graph);
  for (int run = 0; run < 2; ++run) expect_near(answers(*executable, x)[0], want, 1e-5f);
  const DeviceValue value = *(*device)->upload(x);
  std::vector<DeviceValue> outputs(1);
  ASSERT_TRUE(executable->run_values(std::span(&value, 1), outputs, {}).ok());
  expect_near(*outputs[0].to_host(), want, 1e-5f);
}

// A grid has 65535 groups along an axis, where the driver promises no more.
TEST_F(Vulkan, LaunchesLargeGridsInParts) {
  constexpr int64_t kCount = 65'535 * 64 + 100;
  const Graph graph = parsed("input x f32[" + std::to_string(kCount) + "]\ny = Neg(x)\noutput y");
  const auto executable = *(*make_vulkan_device())->compile(graph);
  const Tensor x = counted({kCount});
  const Tensor y = answers(*executable, x)[0];
  for (size_t i = 0; i < kCount; i += 99) {
    ASSERT_EQ(y.data<float>()[i], -x.data<float>()[i]) << i;
  }
  EXPECT_EQ(y.data<float>().back(), -x.data<float>().back());
}

TEST_F(Vulkan, NamesWhatIsMissing) {
  const auto none = make_vulkan_device({.index = 1000});
  EXPECT_EQ(none.status().code(), Code::kUnavailable);
  EXPECT_NE(none.status().message().find("no Vulkan device 1000"), std::string_view::npos);
  register_vulkan_device();
  EXPECT_EQ(make_device("vulkan:x").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(make_device("vulkan:0:fp8").status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(make_device("vulkan:0:or-cpu").ok());
  fake_->vkEnumeratePhysicalDevices = [](VkInstance, uint32_t* count, VkPhysicalDevice*) {
    *count = 0;
    return VK_SUCCESS;
  };
  const auto empty = make_device_over(fake_, {});
  EXPECT_EQ(empty.status().code(), Code::kUnavailable);
  EXPECT_NE(empty.status().message().find("no device of this machine"), std::string_view::npos);
  fake_->vkCreateInstance = [](const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                               VkInstance*) { return VK_ERROR_INCOMPATIBLE_DRIVER; };
  const auto driverless = make_device_over(fake_, {});
  EXPECT_EQ(driverless.status().code(), Code::kUnavailable);
  EXPECT_NE(driverless.status().message().find("no Vulkan driver"), std::string_view::npos);
}

TEST_F(Vulkan, SaysWhatTheCompilerSays) {
  const auto program = compile_glsl("#version 450\nvoid main() { nonsense x; }");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("does not compile"), std::string_view::npos);
  EXPECT_NE(program.status().message().find("nonsense"), std::string_view::npos)
      << program.status().message();
}

TEST_F(Vulkan, NamesTheLayerWhereMemoryRunsOut) {
  fake_->vkAllocateMemory = [](VkDevice device, const VkMemoryAllocateInfo* info,
                               const VkAllocationCallbacks* callbacks, VkDeviceMemory* memory) {
    return faults.calls_before-- > 0
               ? faults.real->vkAllocateMemory(device, info, callbacks, memory)
               : VK_ERROR_OUT_OF_DEVICE_MEMORY;
  };
  const auto device = *make_device_over(fake_, {});
  const Graph graph = parsed(kNet);
  for (const int calls : {0, 1, 2}) {  // the weights, then the values
    faults.calls_before = calls;
    const Status status = device->compile(graph).status();
    EXPECT_EQ(status.code(), Code::kExhausted);
    EXPECT_NE(status.message().find("Conv"), std::string_view::npos) << status.message();
  }
}

// What a kernel may see of a buffer is limited: 128 MiB on some drivers, less than weights have.
TEST_F(Vulkan, LeavesLargeValuesToTheFallback) {
  auto small = make_garbled([](VkPhysicalDeviceProperties& properties) {
    properties.limits.maxStorageBufferRange = 1024;
  });
  const Graph graph = parsed(R"(
    input x f32[1,20]
    const w f32[20,13] = random(1)
    a = MatMul(x, w)
    y = Neg(a)
    output y)");
  ASSERT_FALSE((*small)->supports(graph, graph.nodes()[0]));
  ASSERT_TRUE((*small)->supports(graph, graph.nodes()[1]));
  const auto hybrid = make_hybrid_device(*std::move(small), make_reference_device());
  const auto executable = *hybrid->compile(graph);
  EXPECT_EQ(crossings_of(*executable).values, 1);
  const Tensor x = counted({1, 20});
  ops::expect_equal(answers(*executable, x)[0], reference_answers(graph, x)[0]);
}

TEST_F(Vulkan, SaysThatTheDeviceIsLost) {
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  std::vector<Tensor> outputs(1);
  const auto device = *make_device_over(fake_, {});
  const auto executable = *device->compile(graph);
  const auto both = make_failover_device(*make_device_over(fake_, {}), make_reference_device());
  const auto goes_on = *both->compile(graph);
  fake_->vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo*, VkFence) {
    return VK_ERROR_DEVICE_LOST;
  };
  const Status status = executable->run(std::span(&x, 1), outputs, {});
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("the device is gone"), std::string_view::npos);
  // The reference device goes on, if asked, and for the runs after.
  const Tensor want = reference_answers(graph, x)[0];
  ops::expect_equal(answers(*goes_on, x)[0], want);
  EXPECT_EQ(goes_on->kernel_of(0).name, "reference");
}

// Whatever a driver says of its device, there is a device that works or a failure.
TEST_F(Vulkan, SurvivesGarbledCapabilities) {
  using Limits = VkPhysicalDeviceLimits;
  const Graph graph = parsed(kNet);
  int refused = 0;
  const auto check = [&](auto garble) {
    const auto device =
        make_garbled([&](VkPhysicalDeviceProperties& properties) { garble(properties.limits); });
    refused += device.ok() ? 0 : 1;
    if (device.ok()) {
      EXPECT_TRUE((*device)->supports(graph, graph.nodes()[1]));
    } else {
      EXPECT_EQ(device.status().code(), Code::kUnsupported);
    }
  };
  for (const uint32_t garbage : {0u, 1u, 3u, 0x7f7f7f7fu, 0xffffffffu}) {
    check([&](Limits& limits) { limits.maxComputeWorkGroupInvocations = garbage; });
    check([&](Limits& limits) { limits.maxComputeWorkGroupSize[0] = garbage; });
    check([&](Limits& limits) { limits.maxComputeWorkGroupCount[0] = garbage; });
    check([&](Limits& limits) { limits.maxComputeWorkGroupCount[2] = garbage; });
    check([&](Limits& limits) { limits.minStorageBufferOffsetAlignment = garbage; });
    check([&](Limits& limits) { limits.maxStorageBufferRange = garbage; });
    check([&](Limits& limits) { limits.timestampPeriod = static_cast<float>(garbage); });
  }
  EXPECT_EQ(refused, 19);
  const auto nameless = make_garbled([](VkPhysicalDeviceProperties& properties) {
    std::memset(properties.deviceName, 0xff, sizeof properties.deviceName);
  });
  EXPECT_TRUE(nameless.ok());
}

TEST_F(Vulkan, CompilesOnceForEveryStart) {
  // What the driver keeps comes with the shaders, from the file.
  fake_->vkCreatePipelineCache = [](VkDevice device, const VkPipelineCacheCreateInfo* info,
                                    const VkAllocationCallbacks* callbacks,
                                    VkPipelineCache* cache) {
    faults.calls += info->initialDataSize == 0 ? 1 : 0;
    return faults.real->vkCreatePipelineCache(device, info, callbacks, cache);
  };
  const auto folder = *TemporaryFolder::make();
  const Graph graph = parsed(kNet);
  const Tensor x = counted({1, 2, 5, 5});
  const Tensor want = reference_answers(graph, x)[0];
  const auto expect_compilations = [&](int count) {
    const auto device = *make_device_over(fake_, {.programs = folder.path() / "programs"});
    expect_near(answers(**device->compile(graph), x)[0], want, 1e-5f);
    EXPECT_EQ(faults.calls, count);
  };
  expect_compilations(1);
  expect_compilations(1);
  // A file that was cut, or changed, is as none.
  const auto file = std::filesystem::directory_iterator(folder.path() / "programs")->path();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(100).put('\x5a');
  expect_compilations(2);
  std::filesystem::resize_file(file, 12);
  expect_compilations(3);
  expect_compilations(3);
}

}  // namespace
}  // namespace shoal::vulkan
