// Context: an open Vulkan device, its queue and its properties.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/device/device_cache.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"
#include "shoal/engine/vulkan/vulkan.h"
#include "shoal/engine/vulkan/vulkan_api.h"

namespace shoal::vulkan {

// Pipeline layouts and kernels.

// The layout of kernels with this many arguments.
struct Layout {
  SetLayoutHandle set;
  PipelineLayoutHandle pipeline;
};

using Layouts = std::map<size_t, std::shared_ptr<const Layout>>;  // by the number of arguments
using Pipeline = std::shared_ptr<const PipelineHandle>;

// All that were made for a device. Thread-safe.
struct KnownPipelines {
  gpu::KnownKernels<Pipeline> pipelines;
  std::mutex mutex;  // of the layouts
  Layouts layouts;
};

struct Buffer {
  MemoryHandle memory;
  BufferHandle buffer;
  std::byte* mapped = nullptr;  // null: only the device reaches it
  size_t bytes = 0;             // requested size

  VkBuffer get() const { return buffer.get(); }
};

// The use of a buffer: on the device, or for transfers.
enum class BufferUse : uint8_t { kDevice, kUpload, kDownload };

// Recorded commands and the fence of their end.
struct Commands {
  CommandPoolHandle pool;
  VkCommandBuffer buffer = nullptr;  // of the pool
  FenceHandle fence;
};

class Context {
 public:
  using Buffer = vulkan::Buffer;

  Context(std::shared_ptr<const Api> api, const VulkanOptions& options)
      : api_(std::move(api)), options_(options) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  static Result<std::shared_ptr<const Context>> open(std::shared_ptr<const Api> api,
                                                     const VulkanOptions& options);

  const Api& api() const { return *api_; }
  VkDevice device() const { return device_; }
  const VulkanDescription& description() const { return description_; }
  const gpu::Capabilities& capabilities() const { return capabilities_; }
  int64_t alignment() const { return alignment_; }       // of values, in bytes
  uint32_t most_groups() const { return most_groups_; }  // along axis 0
  // Of a tick of the device's clock; 0: it has none.
  double tick_nanoseconds() const { return tick_nanoseconds_; }
  uint64_t tick_mask() const { return tick_mask_; }
  gpu::PlanOptions plan_options() const {
    return {capabilities_, description_.name, options_.precision, options_.f32_layers,
            alignment_,    tuning_file(),     options_.tune};
  }
  // Empty: programs are not kept.
  const std::filesystem::path& programs() const { return options_.programs; }
  // The file of measurements on this device and driver; empty: not kept.
  std::filesystem::path tuning_file() const;
  // The device and its driver, as compiled programs depend on them.
  const std::string& identity() const { return identity_; }

  KnownPipelines& known() const { return known_; }

  // `what` names the buffer or the layer in failures.
  Result<Buffer> make_buffer(size_t bytes, BufferUse use, std::string_view what) const;
  Result<Buffer> make_buffer(size_t bytes, std::string_view what) const {
    return make_buffer(bytes, BufferUse::kDevice, what);
  }
  // A buffer of the device for a value, reused after take_back() if one has this size: drivers take
  // longer to make one than to compute small values.
  Result<Buffer> value_buffer(size_t bytes, std::string_view what) const;
  void take_back(size_t bytes, Buffer buffer) const;
  // A buffer with the elements of a tensor; f32 is stored as `storage`.
  Result<Buffer> make_constant(const Tensor& tensor, gpu::Storage storage,
                               std::string_view what) const;
  // REQUIRES: the buffer is large enough for the tensor.
  Status write(const Buffer& buffer, const Tensor& tensor) const;
  Status read(const Buffer& buffer, Tensor& tensor) const;

  Result<Commands> make_commands() const;
  // Records anew. REQUIRES: the earlier commands have ended.
  Status record(const Commands& commands, const std::function<void(VkCommandBuffer)>& add) const;
  // Blocks until the commands have ended.
  Status run(const Commands& commands) const;
  // Waits until the queue is empty. If that fails, the device is lost.
  void wait_idle() const;

 private:
  Status choose(int index);
  Status read_limits();
  Status read_queue();
  Status read_memory();
  Status open_device();
  Result<uint32_t> memory_type(uint32_t allowed, BufferUse use) const;
  Status copy(const Commands& commands, VkBuffer from, VkBuffer to, size_t bytes) const;

  // The transfer buffer if the host cannot access the device's memory. It is kept between copies:
  // on an H200, making it for 39 MB takes twice as long as the copy, and commands take a
  // millisecond.
  struct Staging {
    std::mutex mutex;  // held while elements are in it
    Buffer buffer;
    std::optional<Commands> commands;
  };
  // Calls `copy` with a buffer that the host reaches, and commands for it.
  Status through(Staging& staging, BufferUse use, size_t bytes,
                 const std::function<Status(const Buffer&, const Commands&)>& copy) const;

  const std::shared_ptr<const Api> api_;
  const VulkanOptions options_;
  VkInstance instance_ = nullptr;
  VkPhysicalDevice physical_ = nullptr;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  mutable std::mutex mutex_;  // of the queue
  uint32_t family_ = 0;       // of queues
  VkPhysicalDeviceMemoryProperties memory_{};
  bool is_unified_ = false;  // the host reaches the device's memory at full speed
  VulkanDescription description_;
  gpu::Capabilities capabilities_;
  int64_t alignment_ = 16;
  uint32_t most_groups_ = 1;
  double tick_nanoseconds_ = 0;
  uint64_t tick_mask_ = 0;
  std::string identity_;
  mutable Staging upload_, download_;
  mutable gpu::SpareBuffers<Buffer> spare_;
  mutable KnownPipelines known_;
};

// Makes earlier writes visible to later reads on the device.
void add_barrier(const Api& api, VkCommandBuffer commands);

Result<std::vector<VulkanDescription>> describe_devices(const Api& api);

// A device over a table of functions; make_vulkan_device() has the machine's.
Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const VulkanOptions& options);

}  // namespace shoal::vulkan
