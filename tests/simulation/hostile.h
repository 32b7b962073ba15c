// A member of the cluster that sends what no coordinator would.
#pragma once

#include <string>

#include "world.h"

namespace shoal::simulation {

// Connects to a worker as a coordinator, and sends it deployments, starts, releases and pieces in
// any order, many at once. Runs on the caller's thread, whose machine is the member's.
void be_hostile(World& world, int worker);

}  // namespace shoal::simulation
