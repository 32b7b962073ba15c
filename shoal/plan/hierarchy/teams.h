// Teams: workers that answer requests together, each team by itself. Many small teams keep a large
// cluster busy, and a loss concerns one of them.
#pragma once

#include <vector>

#include "shoal/plan/hierarchy/groups.h"

namespace shoal::plan {

// Teams of `size` workers, similar ones together; what is left over makes up the last team. All
// workers of the groups are in one team each. REQUIRES: size > 0
std::vector<std::vector<int>> make_teams(const std::vector<Choices::Group>& groups, size_t size);

}  // namespace shoal::plan
