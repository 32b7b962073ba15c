// Features: what networks compute on the way to their scores. A small network learns faster where
// it also learns what a teacher computes there, because every element tells it something, while
// scores are few.
#pragma once

#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train {

// The ends of a network's stages: of the images [n, c, h, w] of one size h x w, of more than one
// pixel, that products make, the last that is computed, in this order. A network without layers,
// blocks or channels of another one still has the same stages. Pure.
std::vector<ValueId> stage_ends(const Graph& network);

// Appends how far features are from those of a teacher, one number, and returns it: the mean square
// of what they differ by, in units of the variance of the teacher's channels, so that 1 is as far
// as a constant would be. Fails with kInvalidArgument where the two are no images of one shape.
Result<ValueId> add_feature_loss(Graph& graph, ValueId features, ValueId teacher);

// The part of a network that training leaves as it is: what it makes of an example does not change
// from epoch to epoch, and need not be computed again.

// One after the other they are the network.
struct Parted {
  Graph body;  // from the network's input to the features
  Graph head;  // from the features to the output; all that is learned or measured is here
};

// Nothing where no node can be left out, or the head would read more than one value of the body.
Result<std::optional<Parted>> part_frozen_body(const Graph& network, const StepOptions& options);

}  // namespace shoal::train
