// The cluster of this user as a device, for commands that run a model.
#pragma once

#include <memory>

#include "../planning.h"
#include "shoal/device/device.h"

namespace shoal::cli {

// Plans are made as the flags say. The device outlives the executables that it compiled.
Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags& flags);

}  // namespace shoal::cli
