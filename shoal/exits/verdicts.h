// What every exit of a network says about labelled images.
#pragma once

#include "shoal/base/status.h"
#include "shoal/data/batches.h"
#include "shoal/device/device.h"
#include "shoal/exits/multi_exit.h"
#include "shoal/exits/thresholds.h"

namespace shoal::exits {

// Runs the whole network on batches that go through their data once. Fails as the data and the
// device do. REQUIRES: the batches are of the network's size.
Result<Verdicts> verdicts_of(Device& device, const MultiExit& network, const Batches& batches);

}  // namespace shoal::exits
