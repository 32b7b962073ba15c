// Protection: makes a plan survive the loss of workers. Products that are split by channels are
// coded: every worker computes its share without activation, further workers compute parities, and
// every reader decodes and activates for itself, so that there is no merger to lose. All other
// segments are repeated by one worker more than may be lost.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/plan.h"

namespace shoal::plan {

struct Protected {
  Graph graph;  // the same function, with coded products as shares and parities
  Plan plan;
  std::vector<std::string> not_coded;  // by segment: the reason; empty if it is coded
};

// `workers` may be used. Nodes of a coded segment besides its products are left to its readers if
// they are cheap; otherwise the whole segment is repeated. Without `coded`, everything is.
// kInvalidArgument for losses other than 1 or 2, or too few workers.
Result<Protected> protect(const Graph& graph, const Plan& plan, int losses,
                          const std::vector<int>& workers, bool coded = true);

}  // namespace shoal::plan
