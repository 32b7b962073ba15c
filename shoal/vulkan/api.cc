#include "shoal/vulkan/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace shoal::vulkan {
namespace {

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<std::shared_ptr<const Api>> load() {
  // Never closed: drivers keep threads.
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libvulkan.so", RTLD_NOW | RTLD_LOCAL);  // Android
  if (library == nullptr) {
    return Status(Code::kUnavailable, "there is no Vulkan: libvulkan.so.1 cannot be loaded");
  }
  auto api = std::make_shared<Api>();
  const char* missing = nullptr;
#define SHOAL_VK(name) \
  if (!find(library, #name, api->name)) missing = #name;
#include "shoal/vulkan/functions.inc"
#undef SHOAL_VK
  if (missing != nullptr) {
    return Status(Code::kUnavailable, "libvulkan.so.1 lacks " + std::string(missing));
  }
  return std::shared_ptr<const Api>(std::move(api));
}

struct Error {
  VkResult number;
  Code code;
  std::string_view text;
};

constexpr auto kErrors = std::to_array<Error>({
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
  if (error == VK_SUCCESS) return {};
  const auto* known = std::ranges::find(kErrors, error, &Error::number);
  const bool is_known = known != kErrors.end();
  const std::string text = is_known ? std::string(known->text) : "Vulkan failed";
  return Status(is_known ? known->code : Code::kInternal,
                std::string(what) + ": " + text + " (error " + std::to_string(error) + ")");
}

}  // namespace shoal::vulkan
