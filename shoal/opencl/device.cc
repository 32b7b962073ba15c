#include "shoal/base/user_folders.h"
#include "shoal/gpu/device_name.h"
#include "shoal/gpu/lower.h"
#include "shoal/opencl/executable.h"
#include "shoal/opencl/opencl.h"

namespace shoal {
namespace opencl {
namespace {

class ClDevice final : public Device {
 public:
  explicit ClDevice(std::shared_ptr<const Context> context)
      : context_(std::move(context)),
        info_{.name = "opencl(" + context_->description.name + ")",
              .memory_bytes = context_->description.memory_bytes,
              .unified_memory = false,  // values are copied into buffers of the driver's
              .alignment = context_->alignment,
              .max_in_flight = 1} {}

  const DeviceInfo& info() const override { return info_; }
  bool supports(const Graph& graph, const Node& node) const override {
    return gpu::supports(graph, node, context_->capabilities);
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph lowered, gpu::lowered(graph));
    SHOAL_ASSIGN(auto executable, ClExecutable::compile(context_, std::move(lowered)));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, gpu::lowered(graph));
    const MemoryPlan plan = plan_memory(lowered, info_.alignment);
    return MemoryUse{plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
  }
  Result<DeviceValue> upload(const Tensor& tensor) override {
    SHOAL_ASSIGN(BufferHandle buffer,
                 context_->make_constant(tensor, gpu::Storage::kF32, "a tensor to upload"));
    return DeviceValue(tensor.type(), std::make_shared<ClMemory>(context_, std::move(buffer),
                                                                 tensor.bytes().size()));
  }

 private:
  const std::shared_ptr<const Context> context_;
  const DeviceInfo info_;
};

constexpr std::string_view kKind = "opencl";

OpenClOptions options_of(const gpu::DeviceName& name) {
  return {.index = name.index,
          .precision = name.precision,
          .programs = cache_folder() / std::string(kKind)};
}

Result<std::unique_ptr<Device>> make_by_name(std::string_view argument,
                                             const DeviceOptions& options) {
  SHOAL_ASSIGN(const gpu::DeviceName name, gpu::parse_device_name(kKind, argument));
  SHOAL_ASSIGN(auto device, make_opencl_device(options_of(name)));
  return gpu::with_cpu(std::move(device), name, options);
}

}  // namespace

Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const OpenClOptions& options) {
  SHOAL_ASSIGN(auto context, open_context(std::move(api), options));
  return std::unique_ptr<Device>(std::make_unique<ClDevice>(std::move(context)));
}

}  // namespace opencl

Result<std::vector<OpenClDescription>> opencl_devices() {
  SHOAL_ASSIGN(const auto api, opencl::open_api());
  return opencl::describe_devices(*api);
}

Result<std::unique_ptr<Device>> make_opencl_device(const OpenClOptions& options) {
  SHOAL_ASSIGN(const auto api, opencl::open_api());
  return opencl::make_device_over(api, options);
}

Result<OpenClOptions> opencl_options(std::string_view name) {
  SHOAL_ASSIGN(const gpu::DeviceName parsed, gpu::parse_whole_name(opencl::kKind, name));
  return opencl::options_of(parsed);
}

void register_opencl_device() {
  register_device(
      {.name = "opencl",
       .summary = "a GPU by OpenCL, beside the CPU: opencl:N, opencl:N:fp16, opencl:N:or-cpu",
       .is_local = false,
       .make = opencl::make_by_name});
}

}  // namespace shoal
