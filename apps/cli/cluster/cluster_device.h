// The cluster of this user as a device, for commands that run a model.
#pragma once

#include <memory>

#include "../planning.h"
#include "shoal/device/device.h"

namespace shoal::cli {

// Plans are made as the flags say. What is compiled by it must not outlive it.
Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags& flags);

}  // namespace shoal::cli
