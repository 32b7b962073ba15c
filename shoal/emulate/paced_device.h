// A device that takes its time: computes like the one it wraps, and then waits until as much time
// has passed as a profile says a node of it takes. So a fast machine behaves like several slow
// ones.
#pragma once

#include <functional>
#include <memory>

#include "shoal/device/device.h"
#include "shoal/plan/profile.h"

namespace shoal::emulate {

struct Pace {
  plan::WorkerProfile profile;
  // Asked before every run: how many times as long it takes. None: once.
  std::function<double()> dilation = nullptr;
};

// The device outlives what is returned.
std::unique_ptr<Device> make_paced_device(Device& device, Pace pace);

}  // namespace shoal::emulate
