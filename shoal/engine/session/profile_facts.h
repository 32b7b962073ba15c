// Profiles of layers, as rows, for scripts and for Perfetto.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/terminal/table.h"
#include "shoal/engine/session/layer_profile.h"

namespace shoal {

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
