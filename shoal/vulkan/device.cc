#include "shoal/base/user_folders.h"
#include "shoal/gpu/device_name.h"
#include "shoal/gpu/lower.h"
#include "shoal/vulkan/executable.h"
#include "shoal/vulkan/vulkan.h"

namespace shoal {
namespace vulkan {
namespace {

class VkDeviceOf final : public Device {
 public:
  explicit VkDeviceOf(std::shared_ptr<const Context> context)
      : context_(std::move(context)),
        info_{.name = "vulkan(" + context_->description().name + ")",
              .memory_bytes = context_->description().memory_bytes,
              .unified_memory = false,  // values are copied into buffers of the driver's
              .alignment = context_->alignment(),
              .max_in_flight = 1,
              .traces = context_->tick_nanoseconds() > 0} {}

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return gpu::supports(graph, node, context_->capabilities());
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph lowered, gpu::lowered(graph));
    SHOAL_ASSIGN(auto executable, VkExecutable::compile(context_, std::move(lowered)));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, gpu::lowered(graph));
    const MemoryPlan plan = plan_memory(lowered, info_.alignment);
    return MemoryUse{plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
  }
  Result<DeviceValue> upload(const Tensor& tensor) override {
    SHOAL_ASSIGN(Buffer buffer,
                 context_->make_constant(tensor, gpu::Storage::kF32, "a tensor to upload"));
    return DeviceValue(tensor.type(), std::make_shared<VkValueMemory>(context_, std::move(buffer)));
  }

 private:
  const std::shared_ptr<const Context> context_;
  const DeviceInfo info_;
};

constexpr std::string_view kKind = "vulkan";

VulkanOptions options_of(const gpu::DeviceName& name) {
  return {.index = name.index,
          .precision = name.precision,
          .programs = cache_folder() / std::string(kKind)};
}

Result<std::unique_ptr<Device>> make_by_name(std::string_view argument,
                                             const DeviceOptions& options) {
  SHOAL_ASSIGN(const gpu::DeviceName name, gpu::parse_device_name(kKind, argument));
  SHOAL_ASSIGN(auto device, make_vulkan_device(options_of(name)));
  return gpu::with_cpu(std::move(device), name, options);
}

}  // namespace

Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const VulkanOptions& options) {
  SHOAL_ASSIGN(auto context, Context::open(std::move(api), options));
  return std::unique_ptr<Device>(std::make_unique<VkDeviceOf>(std::move(context)));
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
  SHOAL_ASSIGN(const gpu::DeviceName parsed, gpu::parse_whole_name(vulkan::kKind, name));
  return vulkan::options_of(parsed);
}

void register_vulkan_device() {
  register_device(
      {.name = "vulkan",
       .summary = "a GPU by Vulkan, beside the CPU: vulkan:N, vulkan:N:fp16, vulkan:N:or-cpu",
       .is_local = false,
       .make = vulkan::make_by_name});
}

}  // namespace shoal
