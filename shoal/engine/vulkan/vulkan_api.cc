#include "shoal/engine/vulkan/vulkan_api.h"

#include <array>

#include "shoal/engine/gpu/device/library.h"

namespace shoal::vulkan {
namespace {

Result<std::shared_ptr<const Api>> load() {
  // The second one is Android's.
  SHOAL_ASSIGN(void* const library,
               gpu::open_library(Part::kVulkan, {"libvulkan.so.1", "libvulkan.so"}));
  auto api = std::make_shared<Api>();
  const char* missing = nullptr;
#define SHOAL_VK(name) \
  if (!gpu::find_function(library, #name, api->name)) missing = #name;
#include "shoal/engine/vulkan/vulkan_functions.inc"
#undef SHOAL_VK
  if (missing != nullptr) {
    return Status(Code::kUnavailable, "libvulkan.so.1 lacks " + std::string(missing));
  }
  return std::shared_ptr<const Api>(std::move(api));
}

constexpr auto kErrors = std::to_array<gpu::CallError>({
    {VK_ERROR_DEVICE_LOST, Code::kUnavailable, "the device is gone"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, Code::kUnavailable, "no Vulkan driver is installed"},
    {VK_ERROR_INITIALIZATION_FAILED, Code::kUnavailable, "the driver does not start"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, Code::kExhausted, "out of the device's memory"},
    {VK_ERROR_OUT_OF_HOST_MEMORY, Code::kExhausted, "out of host memory"},
    {VK_ERROR_OUT_OF_POOL_MEMORY, Code::kExhausted, "out of the device's resources"},
    {VK_ERROR_FRAGMENTED_POOL, Code::kExhausted, "out of the device's resources"},
    {VK_ERROR_TOO_MANY_OBJECTS, Code::kExhausted, "out of the device's resources"},
    {VK_ERROR_MEMORY_MAP_FAILED, Code::kExhausted, "the device's memory cannot be mapped"},
    {VK_ERROR_INVALID_SHADER_NV, Code::kInternal, "a program does not compile"},
    {VK_ERROR_FEATURE_NOT_PRESENT, Code::kUnsupported, "the device lacks a feature"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, Code::kUnsupported, "the device lacks an extension"},
});

}  // namespace

Result<std::shared_ptr<const Api>> open_api() {
  static const Result<std::shared_ptr<const Api>> opened = load();
  return opened;
}

Status status_of(VkResult error, std::string_view what) {
  return error == VK_SUCCESS ? Status() : gpu::failure_of("Vulkan", kErrors, error, what);
}

}  // namespace shoal::vulkan
