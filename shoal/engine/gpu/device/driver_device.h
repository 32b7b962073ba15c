// The device of a GPU, for all APIs: the steps before a driver is called, and the names of devices.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/files/user_folders.h"
#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/engine/gpu/device/registry.h"
#include "shoal/engine/gpu/plan/gpu_plan.h"
#include "shoal/engine/gpu/plan/options.h"
#include "shoal/engine/gpu/plan/plan_executable.h"

namespace shoal::gpu {

// The names of devices: KIND:N[:fp32|:fp16][:or-cpu].

struct DeviceName {
  int index = 0;
  GpuPrecision precision = GpuPrecision::kF32;
  bool or_cpu = false;  // the CPU takes over if the device fails
};

// Of what follows the kind: "", "0", "0:fp16", "0:fp16:or-cpu". Fails with kInvalidArgument.
Result<DeviceName> parse_device_name(std::string_view kind, std::string_view argument);

// Parses a whole name, "opencl:0:fp16".
Result<DeviceName> parse_whole_name(std::string_view kind, std::string_view name);

// The device with the CPU as fallback for unsupported nodes and, if the name says so, for failures.
std::unique_ptr<Device> with_cpu(std::unique_ptr<Device> device, const DeviceName& name,
                                 const DeviceOptions& options);

// A device that an API opened. Thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual PlanOptions plan_options() const = 0;
  virtual Result<std::unique_ptr<Executable>> compile(Plan plan) const = 0;
  virtual Result<DeviceValue> upload(const Tensor& tensor) const = 0;
};

// The device of a driver, of this kind ("opencl") and with its own memory. Its executables may
// outlive it.
std::unique_ptr<Device> make_driver_device(std::string_view kind, int64_t memory_bytes, bool traces,
                                           std::unique_ptr<const Driver> driver);

// The driver of what an API opened. COMPILED has a static compile(context, plan).
template <class Compiled, class Context>
std::unique_ptr<const Driver> make_driver(std::shared_ptr<const Context> context) {
  class Opened final : public Driver {
   public:
    explicit Opened(std::shared_ptr<const Context> opened) : context_(std::move(opened)) {}
    PlanOptions plan_options() const override { return context_->plan_options(); }
    Result<std::unique_ptr<Executable>> compile(Plan plan) const override {
      return Compiled::compile(context_, std::move(plan));
    }
    Result<DeviceValue> upload(const Tensor& tensor) const override {
      return gpu::upload(context_, tensor);
    }

   private:
    const std::shared_ptr<const Context> context_;
  };
  return std::make_unique<Opened>(std::move(context));
}

// The options of a device by its name. Programs are kept in the user's cache folder.
template <class Options>
Options options_of(std::string_view kind, const DeviceName& name) {
  Options options;
  options.index = name.index;
  options.precision = name.precision;
  options.programs = cache_folder() / std::string(kind);
  return options;
}

// Kernels are measured where the CPU's are, too, at length.
template <class Options>
Options options_of(std::string_view kind, const DeviceName& name, const DeviceOptions& device) {
  Options options = options_of<Options>(kind, name);
  options.tune = device.cpu.tune == Tune::kFull;
  return options;
}

template <class Options>
Result<Options> options_of(std::string_view kind, std::string_view name) {
  SHOAL_ASSIGN(const DeviceName parsed, parse_whole_name(kind, name));
  return options_of<Options>(kind, parsed);
}

// Registers "opencl:N", "opencl:N:fp16" and "opencl:N:or-cpu" with make_device(), and the API with
// registry.h. `list` returns descriptions of all devices, `describe` one as JSON.
template <class Options, class Description>
void register_gpu(std::string_view kind, std::string_view api,
                  Result<std::unique_ptr<Device>> (*make)(const Options&),
                  Result<std::vector<Description>> (*list)(),
                  Json (*describe)(const Description&)) {
  const std::string first = std::string(kind) + ":N";
  register_device({.name = std::string(kind),
                   .summary = "a GPU by " + std::string(api) + ", beside the CPU: " + first + ", " +
                              first + ":fp16, " + first + ":or-cpu",
                   .is_local = false,
                   .make = [kind, make](std::string_view argument, const DeviceOptions& options)
                       -> Result<std::unique_ptr<Device>> {
                     SHOAL_ASSIGN(const DeviceName name, parse_device_name(kind, argument));
                     SHOAL_ASSIGN(auto device, make(options_of<Options>(kind, name, options)));
                     return with_cpu(std::move(device), name, options);
                   }});
  register_kind({.name = std::string(kind),
                 .find =
                     [list, describe] {
                       std::vector<Json> all;
                       const auto descriptions = list();
                       if (!descriptions.ok()) return all;
                       for (const Description& description : *descriptions)
                         all.push_back(describe(description));
                       return all;
                     },
                 .make = [kind, make](std::string_view name, GpuPrecision precision,
                                      const std::vector<std::string>& f32_layers)
                     -> Result<std::unique_ptr<Device>> {
                   SHOAL_ASSIGN(Options options, options_of<Options>(kind, name));
                   options.precision = precision;
                   options.f32_layers = f32_layers;
                   return make(options);
                 }});
}

}  // namespace shoal::gpu
