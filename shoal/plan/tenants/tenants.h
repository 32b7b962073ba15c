// Tenants: several models on one cluster at once, planned together.
//
//   const plan::Tenant tenants[] = {{&detector, 5}, {&classifier, 20}};
//   SHOAL_ASSIGN(const auto joint, plan::plan_tenants(tenants, cluster));
//   if (joint[0].slowdown() > 1.5) ...
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/tenants/demand.h"

namespace shoal::plan {

// A model and how often it is asked.
struct Tenant {
  const Graph* graph;  // outlives the call
  double requests_per_second = 1;
};

struct TenantPlan {
  Prediction plan;   // its timeline is the one beside the others
  Prediction alone;  // the plan that it would have on the cluster by itself
  // Of the cluster: parts of the time, and bytes.
  Demand demand;

  // How many times longer it takes because of the others. Below 1 only where `alone` was not the
  // best plan there is.
  double slowdown() const { return plan.timeline.seconds / alone.timeline.seconds; }
};

// A plan for each, so that the largest slowdown is as small as the search finds it, every worker
// and every link has the time for all requests, and every worker the memory for all models. The
// workers in options.excluded are left out. kExhausted if no such plans were found;
// kInvalidArgument for a rate that is not positive. Takes some times as long as make_plans() for
// each.
Result<std::vector<TenantPlan>> plan_tenants(std::span<const Tenant> tenants,
                                             const ClusterProfile& cluster,
                                             const PlanOptions& options = {});

}  // namespace shoal::plan
