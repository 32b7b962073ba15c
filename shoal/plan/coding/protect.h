// Protection: a plan as one that survives the loss of workers. Products that are split by channels
// are coded: every worker computes its share without activation, further workers compute parities,
// and whoever reads decodes and activates for itself, so that there is no merger to lose. All else
// is repeated by as many workers as may be lost, and one.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

struct Protected {
  Graph graph;  // the same function, with what is coded as shares and parities
  Plan plan;
  std::vector<std::string> not_coded;  // by segment: why; empty where it is
};

// `workers` are those that may be used. What is computed of a segment besides its products is left
// to its readers if it is little; else the whole segment is repeated. So is all if nothing is to be
// coded.
Result<Protected> protect(const Graph& graph, const Plan& plan, int losses,
                          const std::vector<int>& workers, bool coded = true);

}  // namespace shoal::plan
