// shoal inspect and shoal profile: rows, JSON fields and sentences about a graph and about how long
// its layers take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/terminal/table.h"
#include "shoal/engine/session/layer_profile.h"
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

// "winograd4 1.3x winograd2": the kernel that was measured fastest, by how much, and the runner-up.
std::string describe(const KernelInfo& kernel);

// The layers with sums of their times by kernel. Scripts watch two of these sums, which are there
// even if they are zero: what the layout costs (reorder), and what no fast kernel computes
// (reference).
Json to_json(const LayerProfile& profile);

// A row for each layer in order, or for the `most` slowest ones, those first.
std::vector<Facts> rows_of(const LayerProfile& profile, size_t most = SIZE_MAX);

// These rows, and below them how much the others take and all of them.
Table table_of(const LayerProfile& profile, size_t most = SIZE_MAX);

// The last run, as Perfetto reads it.
Json to_perfetto(const LayerProfile& profile);

}  // namespace shoal
