// Features: intermediate values of networks. A small network learns faster if it also imitates a
// teacher's features, which carry more information than a few scores.
#pragma once

#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::train {

// The ends of a network's stages: of the product outputs [n, c, h, w] of each size h x w above one
// pixel, the last one, in order. Networks of different depth or width still have the same stages.
// Pure.
std::vector<ValueId> stage_ends(const Graph& network);

// Appends the distance of features from a teacher's and returns it: the mean squared difference, in
// units of the variance of the teacher's channels, so that a constant has distance 1.
// kInvalidArgument unless both are images of one shape.
Result<ValueId> add_feature_loss(Graph& graph, ValueId features, ValueId teacher);

// The frozen part of a network: its outputs for an example do not change between epochs.

// The network is `head` after `body`.
struct Parted {
  Graph body;  // from the network's input to the features
  Graph head;  // has all that is learned or measured
};

// nullopt if no node is frozen, or the head would read more than one value of the body.
Result<std::optional<Parted>> part_frozen_body(const Graph& network, const StepOptions& options);

}  // namespace shoal::train
