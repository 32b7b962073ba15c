#include "shoal/engine/gpu/device/registry.h"

#include <map>
#include <mutex>

#include "shoal/engine/device/hybrid.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::gpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, Kind, std::less<>> kinds;
};

Registry& registry() {
  static Registry all;
  return all;
}

std::map<std::string, Kind, std::less<>> all_kinds() {
  const std::lock_guard lock(registry().mutex);
  return registry().kinds;
}

std::string_view kind_of(std::string_view device) { return device.substr(0, device.find(':')); }

}  // namespace

void register_kind(Kind kind) {
  const std::lock_guard lock(registry().mutex);
  registry().kinds[kind.name] = std::move(kind);
}

std::vector<FoundDevice> found_gpus() {
  std::vector<FoundDevice> all;
  for (const auto& [name, kind] : all_kinds()) {
    size_t number = 0;
    for (Json& facts : kind.find()) {
      all.push_back({name + ":" + std::to_string(number++), std::move(facts)});
    }
  }
  return all;
}

std::vector<FoundDevice> found_devices() {
  std::vector<FoundDevice> all;
  for (const DeviceKind& kind : device_kinds()) {
    if (kind.is_local) all.push_back({kind.name, {{"summary", kind.summary}}});
  }
  for (FoundDevice& gpu : found_gpus()) all.push_back(std::move(gpu));
  return all;
}

Result<std::string> in_precision(const std::string& device, const std::string& precision) {
  const std::string_view kind = kind_of(device);
  if (precision != "fp32" && kind != "opencl" && kind != "vulkan") {
    return invalid("precision " + precision + " is for the devices opencl:N and vulkan:N");
  }
  if (precision != "fp16") return device;
  return device + (device == kind ? ":0:fp16" : ":fp16");
}

MakeWithPrecision with_precision(const std::string& device) {
  return [device](GpuPrecision precision,
                  const std::vector<std::string>& f32_layers) -> Result<std::unique_ptr<Device>> {
    const auto kinds = all_kinds();
    const auto kind = kinds.find(kind_of(device));
    if (kind == kinds.end()) {
      return Status(Code::kUnsupported, "this program was built without " + device);
    }
    SHOAL_ASSIGN(auto made, kind->second.make(device, precision, f32_layers));
    return make_hybrid_device(std::move(made), make_cpu_device());
  };
}

}  // namespace shoal::gpu
