// Devices by name.
#pragma once

#include <memory>
#include <string>

#include "shoal/engine/devices/devices.h"

namespace shoal::python {

// As make_device(), and "cluster" or "cluster:FOLDER" in a build that has clusters. `threads` 0:
// one for each core. `options` are all others.
Result<std::unique_ptr<Device>> open_device(const std::string& name, int threads, Tune tune,
                                            DeviceOptions options = {});

}  // namespace shoal::python
