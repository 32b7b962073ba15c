// Patterns for TrainingOptions::freeze.
#pragma once

#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::fit {

// Patterns for all that a network would learn besides the constants of these names.
std::vector<std::string> all_but(const Graph& network, const std::vector<std::string>& learned);

}  // namespace shoal::fit
