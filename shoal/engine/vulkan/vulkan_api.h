// The functions of Vulkan 1.1 that Shoal calls, from the loader that this machine has. The loader
// is opened when it is needed, so that one binary runs with and without it.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal::vulkan {

// A table, so that tests can put failures in.
struct Api {
#define SHOAL_VK(name) PFN_##name name = nullptr;
#include "shoal/engine/vulkan/vulkan_functions.inc"
#undef SHOAL_VK
};

// kUnavailable where this machine has no Vulkan. Opened once.
Result<std::shared_ptr<const Api>> open_api();

// The failure of a call: kExhausted where memory ran out, kUnavailable where the device is gone,
// kInternal otherwise. OK for VK_SUCCESS.
Status status_of(VkResult error, std::string_view what);

}  // namespace shoal::vulkan
