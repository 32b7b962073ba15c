// The penalty of sparse learning: groups of units as training takes them.
#pragma once

#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/train/step/optimizer/unit_penalty.h"

namespace shoal::shrink {

// A penalty on the units of each group, over all learned weights that live and die together. Pure.
// REQUIRES: the groups are those of the graph.
train::UnitPenalty penalty_on(const Graph& graph, const compress::Groups& groups,
                              train::Regularizer::Penalty penalty, double strength);

}  // namespace shoal::shrink
