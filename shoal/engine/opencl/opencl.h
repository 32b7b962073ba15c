// GPUs, and whatever else has an OpenCL 1.2 driver, as devices.
//
//   SHOAL_ASSIGN(auto gpu, make_opencl_device({.index = 0}));
//   auto device = make_hybrid_device(std::move(gpu), make_cpu_device());
//
// Weights and values stay in the device's memory. The device computes float networks; a fallback
// computes unsupported nodes (engine/device/hybrid.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/engine/gpu/plan/options.h"

#pragma GCC visibility push(default)

namespace shoal {

// How elements are stored, as on every GPU.
using OpenClPrecision = GpuPrecision;

// Whether kernels use local memory, as on every GPU.
using OpenClLocalMemory = GpuLocalMemory;

// Units that multiply small matrices of f16, as NVIDIA's do since compute capability 8.0.
enum class OpenClMatrixUnits : uint8_t {
  kAuto,  // if the device has them
  kOn,    // emulated if it does not: slow, for tests
  kOff,
};

// Which device, and how it computes. A value.
struct OpenClOptions {
  int index = 0;  // in the list of all devices of all platforms
  OpenClPrecision precision = OpenClPrecision::kF32;
  // Layers (convolutions and matrix products) that stay f32, by the names of their outputs.
  std::vector<std::string> f32_layers = {};
  OpenClLocalMemory local_memory = OpenClLocalMemory::kAuto;
  OpenClMatrixUnits matrix_units = OpenClMatrixUnits::kAuto;
  // Folder for compiled programs, so that the next start need not compile. Empty: none.
  std::filesystem::path programs = {};
  // Measures the ways to compute each layer when it is compiled, and keeps the fastest in that
  // folder. If false, earlier measurements are used, else an estimate.
  bool tune = false;
};

// A device that OpenCL offers.
struct OpenClDescription {
  std::string name;      // of the device: "NVIDIA H200"
  std::string platform;  // "Portable Computing Language"
  std::string driver;    // its version
  int64_t memory_bytes = 0;
};

// All devices, by index. Fails with kUnavailable if this machine has no OpenCL.
Result<std::vector<OpenClDescription>> opencl_devices();

// The device without a fallback. Fails with kUnavailable if there is none of that number, and with
// kUnsupported if the driver reports inconsistent properties. Its executables may outlive it.
Result<std::unique_ptr<Device>> make_opencl_device(const OpenClOptions& options = {});

// Parses the options of a name such as "opencl:0:fp16". Fails with kInvalidArgument.
Result<OpenClOptions> opencl_options(std::string_view name);

// Registers "opencl:N" and "opencl:N:fp16" with make_device(): a device with the CPU as fallback.
// With ":or-cpu" the CPU takes over if the device fails (engine/device/failover.h). Programs are
// kept in the user's cache folder.
void register_opencl_device();

}  // namespace shoal

#pragma GCC visibility pop
