// Which channels of the network each branch has.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/shrink/branches/make_branches.h"
#include "shoal/shrink/compress/units/groups.h"

namespace shoal::branch {

// The units that this branch does without, by number. Where the worth of units is known, each
// group is dealt out from the best on, so that no branch gets only what the others can do without;
// a branch that is fattened takes the best of its neighbours' next. REQUIRES: options are those of
// a network with these groups, and have such a branch.
std::vector<size_t> units_without(const compress::Groups& groups, const BranchOptions& options,
                                  size_t branch);

}  // namespace shoal::branch
