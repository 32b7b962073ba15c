// A device that computes as the reference does and takes virtual time.
#pragma once

#include <memory>

#include "scheduler.h"
#include "shoal/engine/device/device.h"

namespace shoal::simulation {

// The times that a worker takes. Read whenever it begins.
struct Pause {
  Nanos time = 0;
  int sleepers = 0;  // threads for which it goes on

  void take() {
    ++sleepers;
    sleep_until(now() + time);
    --sleepers;
  }
};

struct Pace {
  Pause compile, compute;
};

std::unique_ptr<Device> make_slow_device(std::shared_ptr<Pace> pace);

}  // namespace shoal::simulation
