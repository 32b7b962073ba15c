#include "shoal/engine/gpu/device/driver_device.h"
#include "shoal/engine/vulkan/vulkan.h"
#include "shoal/engine/vulkan/vulkan_executable.h"

namespace shoal {
namespace vulkan {
namespace {

constexpr std::string_view kKind = "vulkan";

}  // namespace

Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const VulkanOptions& options) {
  SHOAL_ASSIGN(auto context, Context::open(std::move(api), options));
  const int64_t memory = context->description().memory_bytes;
  const bool has_clock = context->tick_nanoseconds() > 0;
  return gpu::make_driver_device(kKind, memory, has_clock,
                                 gpu::make_driver<VkExecutable>(std::move(context)));
}

}  // namespace vulkan

Result<std::vector<VulkanDescription>> vulkan_devices() {
  SHOAL_ASSIGN(const auto api, vulkan::open_api());
  return vulkan::describe_devices(*api);
}

Result<std::unique_ptr<Device>> make_vulkan_device(const VulkanOptions& options) {
  SHOAL_ASSIGN(const auto api, vulkan::open_api());
  return vulkan::make_device_over(api, options);
}

Result<VulkanOptions> vulkan_options(std::string_view name) {
  return gpu::options_of<VulkanOptions>(vulkan::kKind, name);
}

void register_vulkan_device() {
  gpu::register_gpu(
      vulkan::kKind, "Vulkan", make_vulkan_device, vulkan_devices,
      +[](const VulkanDescription& device) -> Json {
        return {{"device_name", device.name},
                {"kind", device.kind},
                {"driver", device.driver},
                {"memory_bytes", device.memory_bytes}};
      });
}

}  // namespace shoal
