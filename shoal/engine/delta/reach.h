// Reach: which pixels of a node's output read a pixel of its inputs, as the operator's record says
// (Operator::split). What has changed in an output follows from what has changed in the inputs:
//   changed(pixel) = OR over all inputs, and over the pixels of each that it reads
// This is DeepMon's rule [Huynh 2017]; padding never changes. Pixels read rows and columns
// independently of each other, so that both are looked up by themselves.
#pragma once

#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/window.h"

namespace shoal::delta {

// Of one input: a pixel in row r and column c of it is read by rows[r] x columns[c] of the output
// at most. Both are empty for an input that never changes.
struct Reach {
  std::vector<ops::Range> rows, columns;
};

// One per input of the node. What an operator that cannot be split reads is everything.
std::vector<Reach> reach_of(const Graph& graph, const Node& node);

}  // namespace shoal::delta
