// PacedDevice: a device that takes its time. It computes like the one it wraps, and then waits
// until as much time has passed as a profile predicts. A fast machine thus behaves like several
// slow ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "shoal/engine/device/device.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

struct DevicePace {
  // None: as long as the device takes at least.
  std::optional<plan::WorkerProfile> profile;
  // Asked before every run: the factor by which it takes longer. None: 1.
  std::function<double()> dilation = nullptr;
};

// The device outlives what is returned.
std::unique_ptr<Device> make_paced_device(Device& device, DevicePace pace);

// Lets make_device() know "slow:20:DEVICE", which takes 20 times as long as DEVICE at its fastest.
void register_slow_device();

}  // namespace shoal::emulate
