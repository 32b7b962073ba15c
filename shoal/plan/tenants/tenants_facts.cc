#include "shoal/plan/tenants/tenants_facts.h"

#include <algorithm>
#include <utility>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {

Result<Tenancy> tenancy_of(std::vector<std::string> models, std::vector<double> rates) {
  if (rates.empty()) rates.assign(models.size(), 1);
  if (rates.size() == models.size()) return Tenancy{std::move(models), std::move(rates)};
  return invalid("rates: there are " + std::to_string(models.size()) + " models, and " +
                 std::to_string(rates.size()) + " rates");
}

Result<Tenancy> plan_together(Tenancy asked, std::span<const Graph> graphs,
                              const PlanOptions& options) {
  SHOAL_CHECK(graphs.size() == asked.models.size());
  std::vector<Tenant> tenants;
  for (size_t i = 0; i < graphs.size(); ++i) tenants.push_back({&graphs[i], asked.rates[i]});
  SHOAL_ASSIGN(asked.plans, plan_tenants(tenants, asked.cluster, options));
  return asked;
}

std::vector<Facts> model_rows(const Tenancy& made) {
  std::vector<Facts> rows;
  for (size_t i = 0; i < made.models.size(); ++i) {
    const TenantPlan& tenant = made.plans[i];
    const std::vector<int> workers = workers_of(tenant.plan.plan());
    rows.push_back({{"model", made.models[i], "model"},
                    {"requests_per_second", made.rates[i], "requests/s", 1},
                    {"kind", tenant.plan.name, "plan"},
                    {"workers", workers, "workers", std::to_string(workers.size())},
                    {"alone_ms", 1e3 * tenant.alone.timeline.seconds, "ms alone", 1},
                    {"predicted_ms", 1e3 * tenant.plan.timeline.seconds, "ms together", 1},
                    {"slowdown", tenant.slowdown(), "slower", 2},
                    {"plan", to_text(tenant.plan.graph(), tenant.plan.plan())}});
  }
  return rows;
}

std::vector<Facts> worker_rows(const Tenancy& made) {
  std::vector<Facts> rows;
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    Facts row = {shown("worker", std::to_string(w)),
                 {"name", made.cluster.workers[w].name, "name"}};
    Json busy = Json::array(), memory = Json::array();
    double bytes = 0;
    for (size_t i = 0; i < made.models.size(); ++i) {
      const Demand& demand = made.plans[i].demand;
      row.push_back(shown("busy with " + made.models[i] + " %", fixed(100 * demand.compute[w], 1)));
      busy.push_back(demand.compute[w]);
      memory.push_back(demand.memory[w]);
      bytes += demand.memory[w];
    }
    row.push_back({"busy", std::move(busy)});
    row.push_back(
        {"memory_bytes", std::move(memory), "memory", in_bytes(static_cast<long long>(bytes))});
    rows.push_back(std::move(row));
  }
  return rows;
}

Json to_json(const Tenancy& made) {
  double largest = 0;
  for (const TenantPlan& tenant : made.plans) largest = std::max(largest, tenant.slowdown());
  return {{"models", list_of(model_rows(made))},
          {"workers", list_of(worker_rows(made))},
          {"largest_slowdown", largest}};
}

}  // namespace shoal::plan
