// shoal inspect and shoal profile: rows, JSON fields and sentences about a graph and the times of
// its layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/terminal/table.h"
#include "shoal/engine/session/layer_profile.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/passes/passes.h"

namespace shoal {

// Bytes of activations. The caller's tensors count too: they live from the first step to the last.
struct ActivationBytes {
  int64_t peak = 0;         // as they are planned
  int64_t lower_bound = 0;  // of any plan
};
ActivationBytes activation_bytes(const Graph& optimized);

// A row for each node.
std::vector<Facts> node_rows(const Graph& graph);
// These rows, and below them the sums. Memory is that of the graph that runs.
Table table_of(const Graph& graph, const ActivationBytes& memory);
// The changes of each pass.
Table table_of(const std::vector<passes::Report>& reports);
// The graph for scripts, with all of its nodes.
Json to_json(const Graph& graph, const ActivationBytes& memory);
// A line for each input and output, and one for the memory.
std::string values_text(const Graph& graph, const ActivationBytes& memory);

// "winograd4 1.3x winograd2": the fastest measured kernel, its lead, and the runner-up.
std::string describe(const KernelInfo& kernel);

// The layers with sums of their times by kernel. Scripts watch two of these sums, which are present
// even if they are zero: the cost of the layout (reorder), and work without a fast kernel
// (reference).
Json to_json(const LayerProfile& profile);

// A row for each layer in order, or for the `most` slowest ones, those first.
std::vector<Facts> rows_of(const LayerProfile& profile, size_t most = SIZE_MAX);

// These rows, followed by the time of the others and of all.
Table table_of(const LayerProfile& profile, size_t most = SIZE_MAX);

// The last run, as Perfetto reads it.
Json to_perfetto(const LayerProfile& profile);

}  // namespace shoal
