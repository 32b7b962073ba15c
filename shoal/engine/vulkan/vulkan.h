// GPUs, and whatever else has a Vulkan 1.1 driver, as devices, for phones and boards without
// OpenCL.
//
//   SHOAL_ASSIGN(auto gpu, make_vulkan_device({.index = 0}));
//   auto device = make_hybrid_device(std::move(gpu), make_cpu_device());
//
// Kernels, the layout of values and the use of a fallback are as in engine/opencl/opencl.h. Kernels
// are compiled by shoal_glsl.so, which is loaded when a new kernel is compiled.
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

// Which device, and how it computes. A value.
struct VulkanOptions {
  int index = 0;  // in the list of vulkan_devices()
  GpuPrecision precision = GpuPrecision::kF32;
  // Layers (convolutions and matrix products) that stay f32, by the names of their outputs.
  std::vector<std::string> f32_layers = {};
  GpuLocalMemory local_memory = GpuLocalMemory::kAuto;
  // Folder for compiled programs, so that the next start need not compile. Empty: none.
  std::filesystem::path programs = {};
  // Measures the ways to compute each layer when it is compiled, and keeps the fastest in that
  // folder. If false, earlier measurements are used, else an estimate.
  bool tune = false;
};

// A device that Vulkan offers.
struct VulkanDescription {
  std::string name;    // "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string kind;    // "discrete", "integrated", "virtual", "cpu" or "other"
  std::string driver;  // its name and version
  int64_t memory_bytes = 0;
};

// All devices that compute, by index: discrete GPUs, integrated ones, virtual ones, CPUs. Fails
// with kUnavailable if this machine has no Vulkan.
Result<std::vector<VulkanDescription>> vulkan_devices();

// The device without a fallback. Fails with kUnavailable if there is none of that number, and with
// kUnsupported if the driver reports inconsistent properties, or it cannot store f16. Its
// executables may outlive it.
Result<std::unique_ptr<Device>> make_vulkan_device(const VulkanOptions& options = {});

// Parses the options of a name such as "vulkan:0:fp16". Fails with kInvalidArgument.
Result<VulkanOptions> vulkan_options(std::string_view name);

// Registers "vulkan:N" and "vulkan:N:fp16" with make_device(): a device with the CPU as fallback.
// With ":or-cpu" the CPU takes over if the device fails (engine/device/failover.h). Programs are
// kept in the user's cache folder.
void register_vulkan_device();

}  // namespace shoal

#pragma GCC visibility pop
