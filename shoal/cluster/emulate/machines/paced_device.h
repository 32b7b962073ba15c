// PacedDevice: a device that computes like the one it wraps, and then waits until as much time has
// passed as a profile predicts. A fast machine thus behaves like several slow ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "shoal/engine/device/device.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

struct DevicePace {
  // nullopt: the device's least time.
  std::optional<plan::WorkerProfile> profile;
  // Called before every run: the factor by which it takes longer. nullptr: 1.
  std::function<double()> dilation = nullptr;
};

// The device outlives the result.
std::unique_ptr<Device> make_paced_device(Device& device, DevicePace pace);

// Registers the device name "slow:20:DEVICE": 20 times as long as DEVICE at its fastest.
void register_slow_device();

}  // namespace shoal::emulate
