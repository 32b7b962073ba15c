#include "shoal/engine/gpu/device/driver_device.h"
#include "shoal/engine/opencl/opencl.h"
#include "shoal/engine/opencl/opencl_executable.h"

namespace shoal {
namespace opencl {
namespace {

constexpr std::string_view kKind = "opencl";

}  // namespace

Result<std::unique_ptr<Device>> make_device_over(std::shared_ptr<const Api> api,
                                                 const OpenClOptions& options) {
  SHOAL_ASSIGN(auto context, open_context(std::move(api), options));
  const int64_t memory = context->description.memory_bytes;
  return gpu::make_driver_device(kKind, memory, true,
                                 gpu::make_driver<ClExecutable>(std::move(context)));
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
  return gpu::options_of<OpenClOptions>(opencl::kKind, name);
}

void register_opencl_device() {
  gpu::register_gpu(
      opencl::kKind, "OpenCL", make_opencl_device, opencl_devices,
      +[](const OpenClDescription& device) -> Json {
        return {{"device_name", device.name},
                {"platform", device.platform},
                {"driver", device.driver},
                {"memory_bytes", device.memory_bytes}};
      });
}

}  // namespace shoal
