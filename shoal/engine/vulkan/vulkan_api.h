// The functions of Vulkan 1.1 that Shoal calls, from the loader that this machine has. The loader
// is opened when it is needed, so that one binary runs with and without it.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/status.h"
#include "shoal/engine/gpu/device/library.h"

namespace shoal::vulkan {

// A table, so that tests can inject failures.
struct Api {
#define SHOAL_VK(name) PFN_##name name = nullptr;
#include "shoal/engine/vulkan/vulkan_functions.inc"
#undef SHOAL_VK
};

// kUnavailable if this machine has no Vulkan. Opened once.
Result<std::shared_ptr<const Api>> open_api();

// The status of a call: kExhausted if memory ran out, kUnavailable if the device is lost, kInternal
// for other errors.
Status status_of(VkResult error, std::string_view what);

// Owners of Vulkan's objects, destroyed through the table that made them. The owner keeps the
// device open.
template <auto destroy>
struct Destroyer {
  const Api* api = nullptr;
  VkDevice device = nullptr;

  void operator()(auto object) const { (api->*destroy)(device, object, nullptr); }
};
template <class T, auto destroy>
using Handle = gpu::Handle<T, Destroyer<destroy>>;
using BufferHandle = Handle<VkBuffer, &Api::vkDestroyBuffer>;
using MemoryHandle = Handle<VkDeviceMemory, &Api::vkFreeMemory>;
using FenceHandle = Handle<VkFence, &Api::vkDestroyFence>;
using QueryPoolHandle = Handle<VkQueryPool, &Api::vkDestroyQueryPool>;
using ShaderHandle = Handle<VkShaderModule, &Api::vkDestroyShaderModule>;
using PipelineCacheHandle = Handle<VkPipelineCache, &Api::vkDestroyPipelineCache>;
using PipelineHandle = Handle<VkPipeline, &Api::vkDestroyPipeline>;
using PipelineLayoutHandle = Handle<VkPipelineLayout, &Api::vkDestroyPipelineLayout>;
using SetLayoutHandle = Handle<VkDescriptorSetLayout, &Api::vkDestroyDescriptorSetLayout>;
using DescriptorPoolHandle = Handle<VkDescriptorPool, &Api::vkDestroyDescriptorPool>;
using CommandPoolHandle = Handle<VkCommandPool, &Api::vkDestroyCommandPool>;

// Makes an object: the arguments of the call between the device and the allocator. `what` is for
// the failure.
template <class H, class Create, class Info>
Result<H> made(const Api& api, VkDevice device, Create create, const Info& info,
               std::string_view what) {
  decltype(std::declval<H>().get()) object{};
  SHOAL_TRY(status_of((api.*create)(device, &info, nullptr, &object), what));
  return H({&api, device}, object);
}

}  // namespace shoal::vulkan
