// Where random operators take their numbers from.
#pragma once

#include <random>

#include "shoal/graph/graph.h"

namespace shoal::ops {

// From the node's `seed`, an integer or a float; without one, different at every call.
std::mt19937 make_generator(const Node& node);

}  // namespace shoal::ops
