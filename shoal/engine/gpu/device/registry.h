// The GPUs of this machine, by the APIs that this program has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/text/json.h"
#include "shoal/engine/gpu/plan/session_precision.h"

namespace shoal::gpu {

struct GpuKind {
  std::string name;  // "opencl"
  // Its devices by number; none if the API does not work here.
  std::function<std::vector<Json>()> find;
  // The device of this name without fallback, in this precision whatever the name says.
  std::function<Result<std::unique_ptr<Device>>(std::string_view name, GpuPrecision precision,
                                                const std::vector<std::string>& f32_layers)>
      make;
};

// Adds an API, or replaces the one of the same name. Thread-safe.
void register_kind(GpuKind kind);

struct FoundDevice {
  std::string name;  // as make_device() takes it: "opencl:0"
  Json facts;        // of a GPU name, driver, memory; of a kind that has one device its summary
};
// All GPUs, in the order of APIs' names. Thread-safe.
std::vector<FoundDevice> found_gpus();
// All devices that this machine has and that need no argument: of each kind that is local (the CPU,
// the reference), and all GPUs behind them. Thread-safe.
std::vector<FoundDevice> found_devices();

// The name of the same device in this precision: of "opencl", for fp16, "opencl:0:fp16"; for fp32,
// and for auto, which chooses for each layer, the name as it is. kInvalidArgument unless the
// precision is fp32 or the device is one that has others: opencl:N, vulkan:N.
Result<std::string> in_precision(const std::string& device, const std::string& precision);

// The device of this name with a CPU as fallback, in any precision. Fails with kUnsupported if the
// API is not registered.
MakeWithPrecision with_precision(const std::string& device);

}  // namespace shoal::gpu
