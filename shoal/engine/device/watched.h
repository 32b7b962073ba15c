// A device that says when it is gone.
#pragma once

#include <functional>
#include <memory>

#include "shoal/engine/device/device.h"

namespace shoal {

// Calls `gone` with the failure where a run fails with kUnavailable: on the thread of the run, and
// for each such run. `gone` must not wait for the run.
std::unique_ptr<Device> make_watched_device(std::unique_ptr<Device> device,
                                            std::function<void(const Status& why)> gone);

}  // namespace shoal
