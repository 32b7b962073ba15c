// A device that computes as the reference does and takes virtual time.
#pragma once

#include <memory>

#include "scheduler.h"
#include "shoal/device/device.h"

namespace shoal::simulation {

// Read whenever something is compiled or computed.
struct Pace {
  Nanos compile = 5 * kMillisecond;
  Nanos compute = kMillisecond;
};

std::unique_ptr<Device> make_slow_device(std::shared_ptr<const Pace> pace);

}  // namespace shoal::simulation
