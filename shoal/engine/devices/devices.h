// Devices by name, for programs that let a user choose one.
//
//   SHOAL_ASSIGN(auto device, make_device("cpu", {.cpu = {.threads = 2}}));
//
// A name is KIND or KIND:ARGUMENT. Known from the start are
//   cpu                     the CPU: engine/cpu/cpu.h
//   reference               the reference functions, slow and plain: engine/device/device.h
//   hybrid:FIRST+FALLBACK   two devices that share a graph: engine/device/hybrid.h
// Higher parts register more (register_device), so that a program has the devices that it links,
// and the engine depends on none of them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// The options of all kinds of devices; each kind reads its own. A value.
struct DeviceOptions {
  CpuOptions cpu = {};
  // Of a cluster: see OpenClusterOptions in cluster/cluster.h.
  bool throughput = false;
  int survive = 0;
  uint64_t verify = 0;
  std::chrono::milliseconds timeout{60'000};
};

// A kind of device, as make_device() knows it.
struct DeviceKind {
  std::string name;     // without ':'
  std::string summary;  // one line for a user
  // False if names of this kind need an argument, or more than this machine.
  bool is_local = true;
  std::function<Result<std::unique_ptr<Device>>(std::string_view argument, const DeviceOptions&)>
      make;
};

// Makes the device of this name. Fails with kNotFound and the list of kinds if the name's kind is
// not registered; otherwise as the kind does. Thread-safe.
Result<std::unique_ptr<Device>> make_device(std::string_view name,
                                            const DeviceOptions& options = {});

// The kind of the device of this name, without making it. Fails as make_device() does where there
// is none. Thread-safe.
Result<DeviceKind> find_device_kind(std::string_view name);

// Adds a kind, or replaces the one of the same name. Thread-safe.
void register_device(DeviceKind kind);

// Registers a hint how to get a kind that this program lacks; make_device() appends it to the list
// of kinds. Thread-safe.
void explain_missing_device(std::string kind, std::string how);

// All kinds, in the order of their names. Thread-safe.
std::vector<DeviceKind> device_kinds();

}  // namespace shoal

#pragma GCC visibility pop
