// A progress line while weights travel to workers.
#pragma once

#include <functional>

#include "shoal/cluster/weight_sender.h"

namespace shoal::cli {

// Draws one bar for each deployment that sends a megabyte or more, on a terminal only. For
// cluster::DeployOptions::progress.
std::function<Status(const cluster::WeightsProgress&)> draw_deployments();

}  // namespace shoal::cli
