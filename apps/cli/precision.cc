#include "precision.h"

#include "shoal/device/hybrid.h"
#include "shoal/devices/devices.h"
#ifdef SHOAL_OPENCL
#include "shoal/opencl/opencl.h"
#endif
#ifdef SHOAL_VULKAN
#include "shoal/vulkan/vulkan.h"
#endif

namespace shoal::cli {
namespace {

// The device of this name, in this precision whatever the name says.
Result<std::unique_ptr<Device>> make_alone(const std::string& name, GpuPrecision precision,
                                           const std::vector<std::string>& f32_layers) {
  const auto with = [&](auto options) {
    options.precision = precision;
    options.f32_layers = f32_layers;
    return options;
  };
#ifdef SHOAL_OPENCL
  if (name.starts_with("opencl")) {
    SHOAL_ASSIGN(const OpenClOptions options, opencl_options(name));
    return make_opencl_device(with(options));
  }
#endif
#ifdef SHOAL_VULKAN
  if (name.starts_with("vulkan")) {
    SHOAL_ASSIGN(const VulkanOptions options, vulkan_options(name));
    return make_vulkan_device(with(options));
  }
#endif
  static_cast<void>(with);
  return Status(Code::kUnsupported, "this program was built without " + name);
}

}  // namespace

bool has_precisions(const std::string& device) {
  const std::string kind = device.substr(0, device.find(':'));
  return kind == "opencl" || kind == "vulkan";
}

MakeWithPrecision with_precision(const std::string& name) {
  return [name](GpuPrecision precision,
                const std::vector<std::string>& f32_layers) -> Result<std::unique_ptr<Device>> {
    SHOAL_ASSIGN(auto device, make_alone(name, precision, f32_layers));
    return make_hybrid_device(std::move(device), make_cpu_device());
  };
}

Json facts_of(const AutomaticPrecision& found) {
  return {{"layers", found.layers.size()},
          {"f32_layers", found.choice.f32_layers},
          {"f32_accuracy", found.choice.f32_accuracy},
          {"chosen_accuracy", found.choice.accuracy},
          {"evaluations", found.choice.evaluations}};
}

}  // namespace shoal::cli
