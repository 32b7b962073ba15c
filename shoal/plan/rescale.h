// A plan carried over to a narrower network: the same nodes, with some values shorter.
//
// A search takes seconds, and networks that differ only in width have similar plans. Each box of a
// value of length n becomes one of length m with its borders at round(border m / n). Boxes that
// touched still do, so values stay covered; boxes that become empty are left out.
#pragma once

#include "shoal/base/status.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

// The plan of `from` as one of `to`, which it is verified for. Values correspond by name. Fails
// with kUnsupported where `to` has other nodes, or the boxes do not give what later segments read;
// likewise for a protected plan. REQUIRES: the plan is one of `from`, for that number of workers.
Result<Plan> rescaled(const Plan& plan, const Graph& from, const Graph& to, int workers);

}  // namespace shoal::plan
