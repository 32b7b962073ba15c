// The generator of random operators.
#pragma once

#include <random>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// Seeded by the node's `seed`, an integer or a float; without one, different at every call. Reads
// nothing but the node, so any thread may call it.
std::mt19937 make_generator(const Node& node);

}  // namespace shoal::ops
