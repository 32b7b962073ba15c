#include <charconv>

#include "shoal/base/user_folders.h"
#include "shoal/cpu/elementwise/elementwise_chain.h"
#include "shoal/device/failover.h"
#include "shoal/device/hybrid.h"
#include "shoal/devices/devices.h"
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
    return gpu::work_of(graph, node, context_->capabilities).has_value();
  }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(Graph lowered, cpu::chain_elementwise(graph));
    SHOAL_ASSIGN(auto executable, ClExecutable::compile(context_, std::move(lowered)));
    return std::unique_ptr<Executable>(std::move(executable));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    SHOAL_ASSIGN(const Graph lowered, cpu::chain_elementwise(graph));
    const MemoryPlan plan = plan_memory(lowered, info_.alignment);
    return MemoryUse{plan.arena_bytes + plan.caller_bytes, plan.live_bytes + plan.caller_bytes};
  }
  Result<DeviceValue> upload(const Tensor& tensor) override {
    SHOAL_ASSIGN(BufferHandle buffer,
                 context_->make_constant(tensor, gpu::Storage::kF32, "a tensor to upload"));
    return DeviceValue(tensor.type(), std::make_shared<ClMemory>(context_, std::move(buffer)));
  }

 private:
  const std::shared_ptr<const Context> context_;
  const DeviceInfo info_;
};

struct NamedOptions {
  OpenClOptions options = {.programs = cache_folder() / "opencl"};
  bool or_cpu = false;  // the CPU goes on where the device fails
};

// "", "0", "0:fp16", "0:fp16:or-cpu"
Result<NamedOptions> parse_options(std::string_view argument) {
  NamedOptions named;
  const size_t colon = argument.find(':');
  const std::string_view number = argument.substr(0, colon);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), named.options.index);
  bool is_known = number.empty() || (error == std::errc() && end == number.end());
  std::string_view rest = colon == argument.npos ? "" : argument.substr(colon);
  while (is_known && !rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    is_known = word == "fp32" || word == "fp16" || word == "or-cpu";
    if (word == "fp16") named.options.precision = OpenClPrecision::kF16;
    named.or_cpu |= word == "or-cpu";
  }
  if (!is_known) {
    return invalid("an OpenCL device is named opencl:N, opencl:N:fp16 or opencl:N:fp16:or-cpu");
  }
  return named;
}

Result<std::unique_ptr<Device>> make_by_name(std::string_view argument,
                                             const DeviceOptions& options) {
  SHOAL_ASSIGN(const NamedOptions named, parse_options(argument));
  SHOAL_ASSIGN(auto device, make_opencl_device(named.options));
  auto hybrid = make_hybrid_device(std::move(device), make_cpu_device(options.cpu));
  if (!named.or_cpu) return hybrid;
  return make_failover_device(std::move(hybrid), make_cpu_device(options.cpu));
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
  constexpr std::string_view kKind = "opencl";
  if (!name.starts_with(kKind)) return invalid(std::string(name) + " is no OpenCL device");
  name.remove_prefix(kKind.size());
  if (name.starts_with(':')) name.remove_prefix(1);
  SHOAL_ASSIGN(const opencl::NamedOptions named, opencl::parse_options(name));
  return named.options;
}

void register_opencl_device() {
  register_device(
      {.name = "opencl",
       .summary = "a GPU by OpenCL, beside the CPU: opencl:N, opencl:N:fp16, opencl:N:or-cpu",
       .is_local = false,
       .make = opencl::make_by_name});
}

}  // namespace shoal
