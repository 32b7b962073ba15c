// Devices by name.
#pragma once

#include <memory>
#include <string>

#include "shoal/cpu/cpu.h"
#include "shoal/device/device.h"

namespace shoal::python {

// As make_device() does, and "cluster" or "cluster:FOLDER" in a build that has clusters. `threads`
// 0: one for each core.
Result<std::unique_ptr<Device>> open_device(const std::string& name, int threads, Tune tune);

}  // namespace shoal::python
