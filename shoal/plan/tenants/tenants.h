// Tenants: several models on one cluster at once, planned together.
//
//   const plan::Tenant tenants[] = {{&detector, 5}, {&classifier, 20}};
//   SHOAL_ASSIGN(const auto joint, plan::plan_tenants(tenants, cluster));
//   if (joint[0].slowdown() > 1.5) ...
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Demand: what a plan takes of a cluster for each request, and what it leaves to others.
// Of one request, or of all requests of a second: then in parts of the time there is.
struct Demand {
  std::vector<double> compute;  // seconds, by worker
  std::vector<double> network;  // seconds, by resource (resources_of())
  std::vector<double> memory;   // bytes, by worker, however many requests there are

  friend bool operator==(const Demand&, const Demand&) = default;
};

// At this rate of requests. REQUIRES: the steps are those of the prediction on this cluster.
Demand demand_of(const Prediction& prediction, const Steps& steps, const ClusterProfile& cluster,
                 double requests);

Demand sum_of(std::span<const Demand> demands, const ClusterProfile& cluster);

// Whether no worker and no link has more than all its time to give, and no worker more than its
// memory.
bool is_met(const Demand& total, const ClusterProfile& cluster);

// The cluster that `others` leave to a further tenant: a worker that is busy for a part u of the
// time takes 1 / (1 - u) times as long, and likewise for links. Workers and links with nothing left
// are absent.
ClusterProfile left_by(const Demand& others, const ClusterProfile& cluster);

// Time of an answer on left_by(others, cluster), from the steps of the cluster itself.
double seconds_among(const Demand& others, Steps steps, const ClusterProfile& cluster);

// A model and its rate of requests.
struct Tenant {
  const Graph* graph;  // outlives the call
  double requests_per_second = 1;
};

struct TenantPlan {
  Prediction plan;   // its timeline is the one beside the others
  Prediction alone;  // the plan that it would have on the cluster by itself
  // Of the cluster: parts of the time, and bytes.
  Demand demand;

  // How many times longer it takes because of the others. Below 1 only if `alone` was not the best
  // plan.
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
