// The scores that every exit of a network gives labelled images.
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/drop_calibration.h"
#include "shoal/train/data/batches.h"

namespace shoal::exits {

// Runs the whole network on batches that go through their data once. Where the network ends in a
// softmax, the scores are logarithms of its probabilities. Fails as the data and the device do.
// REQUIRES: the batches are of the network's size.
Result<ExitScores> scores_by_exit(Device& device, const MultiExit& network, const Batches& batches);

}  // namespace shoal::exits
