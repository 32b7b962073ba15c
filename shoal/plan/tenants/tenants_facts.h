// Plans for several models on one cluster, as rows of tables and as JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/plan/tenants/tenants.h"

namespace shoal::plan {

// The models and their rates, the cluster, and the plans for them. REQUIRES: as many of each.
struct Tenancy {
  std::vector<std::string> models;
  std::vector<double> rates;  // requests a second
  ClusterProfile cluster = {};
  std::vector<TenantPlan> plans = {};
};

// Without a cluster and plans. No rates: one request a second of each. kInvalidArgument for another
// number of rates than of models.
Result<Tenancy> tenancy_of(std::vector<std::string> models, std::vector<double> rates);

// The same with its plans, for these graphs of its models. Fails as plan_tenants() does. REQUIRES:
// as many graphs as models.
Result<Tenancy> plan_together(Tenancy asked, std::span<const Graph> graphs,
                              const PlanOptions& options = {});

// A row for each model, and for each worker with what it does for each of them.
std::vector<Facts> model_rows(const Tenancy& made);
std::vector<Facts> worker_rows(const Tenancy& made);

Json to_json(const Tenancy& made);

}  // namespace shoal::plan
