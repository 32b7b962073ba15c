// What a step of training takes, known before a device compiles it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/train/step/graph/step_graph.h"
#include "shoal/train/step/optimizer/optimizer.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// The products of a step, and the nodes that a device does not take.
struct StepWork {
  int64_t macs = 0;                    // forward, backward and update
  std::vector<std::string> elsewhere;  // by their names: another device has to compute them
};

// Of a step whose update is a part of it. Fails where make_step_graph() does.
Result<StepWork> step_work(const Graph& network, const StepOptions& options,
                           const OptimizerOptions& optimizer, const Device& device);

}  // namespace shoal::train

#pragma GCC visibility pop
