// shoal plan --with: several models on one cluster. They are planned by shoal/plan/tenants.
#include "tenants.h"

#include <algorithm>
#include <cstdio>

#include "apps/flags/json.h"
#include "model.h"
#include "shoal/passes/passes.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/tenants/tenants.h"
#include "table.h"

namespace shoal::cli {
namespace {

using plan::TenantPlan;

// What was asked for, and the plans for it.
struct Together {
  std::vector<std::string> models;
  std::vector<double> rates;
  plan::ClusterProfile cluster;
  std::vector<TenantPlan> plans;
};

double percent(double part) { return 100 * part; }

void print_tenants(const Together& made) {
  Table models({"model", "requests/s", "plan", "workers", "ms alone", "ms together", "slower"});
  for (size_t i = 0; i < made.models.size(); ++i) {
    const TenantPlan& tenant = made.plans[i];
    models.add({made.models[i], fixed(made.rates[i], 1), tenant.plan.name,
                std::to_string(plan::workers_of(tenant.plan.plan()).size()),
                fixed(1e3 * tenant.alone.timeline.seconds, 1),
                fixed(1e3 * tenant.plan.timeline.seconds, 1), fixed(tenant.slowdown(), 2)});
  }
  models.print();
  std::printf("\n");
  std::vector<std::string> columns = {"worker", "name"};
  for (const std::string& model : made.models) columns.push_back("busy with " + model + " %");
  columns.emplace_back("memory");
  Table workers(columns);
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    std::vector<std::string> row = {std::to_string(w), made.cluster.workers[w].name};
    double bytes = 0;
    for (const TenantPlan& tenant : made.plans) {
      row.push_back(fixed(percent(tenant.demand.compute[w]), 1));
      bytes += tenant.demand.memory[w];
    }
    row.push_back(in_bytes(static_cast<long long>(bytes)));
    workers.add(row);
  }
  workers.print();
}

Json tenants_json(const Together& made) {
  Json models = Json::array(), workers = Json::array();
  double largest = 0;
  for (size_t i = 0; i < made.models.size(); ++i) {
    const TenantPlan& tenant = made.plans[i];
    largest = std::max(largest, tenant.slowdown());
    models.push_back({{"model", made.models[i]},
                      {"requests_per_second", made.rates[i]},
                      {"kind", tenant.plan.name},
                      {"workers", plan::workers_of(tenant.plan.plan())},
                      {"alone_ms", 1e3 * tenant.alone.timeline.seconds},
                      {"predicted_ms", 1e3 * tenant.plan.timeline.seconds},
                      {"slowdown", tenant.slowdown()},
                      {"plan", to_text(tenant.plan.graph(), tenant.plan.plan())}});
  }
  for (size_t w = 0; w < made.cluster.workers.size(); ++w) {
    Json busy = Json::array(), memory = Json::array();
    for (const TenantPlan& tenant : made.plans) {
      busy.push_back(tenant.demand.compute[w]);
      memory.push_back(tenant.demand.memory[w]);
    }
    workers.push_back({{"name", made.cluster.workers[w].name},
                       {"busy", std::move(busy)},
                       {"memory_bytes", std::move(memory)}});
  }
  return {{"models", std::move(models)},
          {"workers", std::move(workers)},
          {"largest_slowdown", largest}};
}

}  // namespace

void TenantFlags::add_to(Command& command) {
  Option* others = command.add_option(
      "--with", with, "Another model on the same workers, planned together; may be repeated");
  command
      .add_option("--rates", rates, "Requests a second of each model, the first one first",
                  in_range(1e-9, 1e9))
      ->delimiter(',')
      ->needs(others);
}

Outcome plan_together(const PlanFlags& plan, const TenantFlags& tenants, bool json) {
  Together made{{plan.model}, tenants.rates, {}, {}};
  made.models.insert(made.models.end(), tenants.with.begin(), tenants.with.end());
  if (made.rates.empty()) made.rates.assign(made.models.size(), 1);
  if (made.rates.size() != made.models.size()) {
    return {Exit::kUsage, "--rates: there are " + std::to_string(made.models.size()) +
                              " models, and " + std::to_string(made.rates.size()) + " rates"};
  }
  SHOAL_OR_EXIT(made.cluster, Exit::kUsage, make_cluster(plan));
  std::vector<Graph> graphs;
  for (const std::string& model : made.models) {
    SHOAL_OR_EXIT(const LoadedGraph loaded, Exit::kModel, load_graph(model, plan.shapes));
    SHOAL_OR_EXIT(Graph graph, Exit::kModel, passes::optimize(loaded.graph));
    graphs.push_back(std::move(graph));
  }
  std::vector<plan::Tenant> asked;
  for (size_t i = 0; i < graphs.size(); ++i) asked.push_back({&graphs[i], made.rates[i]});
  plan::PlanOptions options;
  options.excluded = plan.excluded;
  SHOAL_OR_EXIT(made.plans, Exit::kResources, plan_tenants(asked, made.cluster, options));
  json ? print_json(tenants_json(made)) : print_tenants(made);
  return {};
}

}  // namespace shoal::cli
