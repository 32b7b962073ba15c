// Random graphs of typical layers, and of typical leftovers of exporters.
#pragma once

#include <cstdint>

#include "shoal/model/graph/graph.h"

namespace shoal::passes {

// The same seed gives the same graph.
Graph random_graph(uint32_t seed);

}  // namespace shoal::passes
