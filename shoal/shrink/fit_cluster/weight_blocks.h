// Fully connected layers as blocks, one for each worker: what sparse clusters could save, and how a
// network learns to have them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::fit_cluster {

// The weights of Gemm and MatMul layers that are worth a message, by name.
std::vector<std::string> weights_for_blocks(const Graph& graph);

// The penalty under which a weight falls into so many blocks, as train::parse_regularizer takes it.
std::string penalty_for_blocks(const std::string& weight, size_t blocks);

// The graph without those values of these weights outside blocks that are small: groups whose norm
// is at most `share` of the largest one's, below 1. With a share near 1 nearly nothing is left but
// blocks, which is the most that learning could reach.
Result<Graph> in_blocks(const Graph& graph, const std::vector<std::string>& weights, size_t blocks,
                        double share);

}  // namespace shoal::fit_cluster
