// Evaluation of a network that is trained: a graph on batches that are ready.
#pragma once

#include "shoal/base/status.h"
#include "shoal/data/batches.h"
#include "shoal/device/device.h"
#include "shoal/fit/evaluation.h"

namespace shoal::fit {

// Evaluates the first output of a network on batches that go through their data once. REQUIRES: the
// network has one input, which takes the batches, and its first output is [batch, classes] of f32.
Result<Evaluation> evaluate(Device& device, const Graph& network, const Batches& batches);

}  // namespace shoal::fit
