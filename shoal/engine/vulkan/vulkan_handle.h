// Owners of Vulkan's objects.
#pragma once

#include <memory>
#include <utility>

#include "shoal/engine/vulkan/vulkan_api.h"

namespace shoal::vulkan {

// Destroys an object of a device through the table it came from. Whoever has one keeps the device.
template <class T, auto destroy>
class Handle {
 public:
  Handle() = default;
  Handle(const Api& api, VkDevice device, T object)
      : api_(&api), device_(device), object_(object) {}
  Handle(Handle&& other) noexcept { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(device_, other.device_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != T{}) (api_->*destroy)(device_, object_, nullptr);
  }
  T get() const { return object_; }

 private:
  const Api* api_ = nullptr;
  VkDevice device_ = nullptr;
  T object_{};
};

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
  return H(api, device, object);
}

}  // namespace shoal::vulkan
