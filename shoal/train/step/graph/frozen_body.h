// The part of a network that training leaves as it is: what it makes of an example does not change
// from epoch to epoch, and need not be computed again.
#pragma once

#include <optional>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train {

// One after the other they are the network.
struct Parted {
  Graph body;  // from the network's input to the features
  Graph head;  // from the features to the output; all that is learned or measured is here
};

// Nothing where no node can be left out, or the head would read more than one value of the body.
Result<std::optional<Parted>> part_frozen_body(const Graph& network, const StepOptions& options);

}  // namespace shoal::train
