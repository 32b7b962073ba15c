// What a graph has and costs, without running it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/terminal/table.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/passes/passes.h"

namespace shoal {

// Bytes of activations. The caller's tensors count too: they are there from the first step to the
// last.
struct ActivationBytes {
  int64_t peak = 0;         // as they are planned
  int64_t lower_bound = 0;  // of any plan
};
ActivationBytes activation_bytes(const Graph& optimized);

int64_t total_macs(const Graph& graph);

// A row for each node.
std::vector<Facts> node_rows(const Graph& graph);
// These rows, and below them the sums. Memory is that of the graph that runs.
Table table_of(const Graph& graph, const ActivationBytes& memory);
// What each pass did.
Table table_of(const std::vector<passes::Report>& reports);
// The graph for scripts, with all of its nodes.
Json to_json(const Graph& graph, const ActivationBytes& memory);
// A line for each input and output, and one for the memory.
std::string values_text(const Graph& graph, const ActivationBytes& memory);

}  // namespace shoal
