// The graph of one training step, made from a network for inference.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::train {

// What training learns by default: float constants that nodes read as weights, each once. Not
// scalars (an epsilon, the bounds of Clip), nor what is measured.
std::vector<ValueId> learned_values(const Graph& graph);

// Inputs: the network's, labels (i64 [batch]), statistics, parameters.
// Outputs: the network's, the loss, statistics as they are after the step, gradients.
struct StepGraph {
  Graph graph;
  std::vector<ValueId> statistics;  // constants of the network that are measured on the way
  std::vector<ValueId> parameters;  // constants of the network that are learned
};

// Puts the mean cross-entropy behind a network with one input and one output, scores [batch,
// classes] or a Softmax of them; lets BatchNormalization measure each batch and keep a running
// average; and adds the gradients.
Result<StepGraph> make_step_graph(const Graph& network);

}  // namespace shoal::train
