// The names of devices: KIND:N[:fp32|:fp16][:or-cpu].
#pragma once

#include <memory>
#include <string_view>

#include "shoal/base/status.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/gpu/plan/options.h"

namespace shoal::gpu {

// What a name says.
struct DeviceName {
  int index = 0;
  GpuPrecision precision = GpuPrecision::kF32;
  bool or_cpu = false;  // the CPU goes on where the device fails
};

// Of what follows the kind: "", "0", "0:fp16", "0:fp16:or-cpu". Fails with kInvalidArgument.
Result<DeviceName> parse_device_name(std::string_view kind, std::string_view argument);

// The same of a whole name, "opencl:0:fp16".
Result<DeviceName> parse_whole_name(std::string_view kind, std::string_view name);

// The device with the CPU for what it does not support, and for what fails if the name says so.
std::unique_ptr<Device> with_cpu(std::unique_ptr<Device> device, const DeviceName& name,
                                 const DeviceOptions& options);

}  // namespace shoal::gpu
