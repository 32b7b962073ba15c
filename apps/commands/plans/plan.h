// shoal plan and shoal simulate: a model and its plans according to the settings, and their rows,
// JSON fields and sentences.
//
//   SHOAL_ASSIGN(const config::Planned planned,
//                config::make_planned(settings, settings.options(), {"zoo:vgg16", graph},
//                                     profile_of, make_device));
//   std::puts(to_json(planned).dump().c_str());
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/commands/plans/plan_settings.h"
#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/stream/stream.h"
#include "shoal/plan/tenants/tenants.h"

namespace shoal::config {

// For one request.
struct Planned : plan::Comparison {
  std::string model;
  plan::PlanOptions options = {};  // that the plans were made by
};

// For a stream of requests: the objective is throughput.
struct PlannedStream : plan::StreamComparison {
  std::string model;
};

struct NamedGraph {
  std::string name;
  Graph graph;
};

// How fast a cluster is at a graph.
using ProfileOf = std::function<Result<plan::ClusterProfile>(const Graph&)>;

// `options` may differ from those of the settings. If values are sent in eight bits, their ranges
// are those of a random input, good for measuring only: `make_device` is called then, after the
// profile is known, for a device that computes them. Fails as these functions and compare_plans().
Result<Planned> make_planned(const PlanSettings& settings, plan::PlanOptions options,
                             const NamedGraph& model, const ProfileOf& profile_of,
                             const std::function<Result<std::unique_ptr<Device>>()>& make_device);

// Fails as `profile_of` and plan::compare_streams() do.
Result<PlannedStream> make_planned_stream(const PlanSettings& settings, NamedGraph model,
                                          const ProfileOf& profile_of);

// The plan for scripts, whose fields are stable: docs/reference/commands/plan.md.
Json to_json(const Planned& planned);
Json to_json(const PlannedStream& planned);

}  // namespace shoal::config

namespace shoal::plan {

// The segments of the best plan, and the load of each worker.
std::vector<Facts> segment_rows(const Comparison& made);
std::vector<Facts> worker_rows(const Comparison& made);

// The best plan beside one worker, as one row. A stream has milliseconds between answers.
struct BesideOne {
  std::string model;
  size_t workers = 0;
  std::string plan;
  double single_ms = 0, cluster_ms = 0, speedup = 0, wire_bytes = 0;
};
Facts facts_of(const BesideOne& made);
BesideOne beside_one(const Comparison& made, std::string model);

// The best plan against one worker, its price, why the next ones are slower, and advice, by line.
std::string summary_text(const Comparison& made);

// What `shoal plan --json` prints: summary.h.
Json to_json(const Comparison& made, const std::string& model);

// The stages of the best plan with their workers, and the work of each worker for one request.
std::vector<Facts> stage_rows(const StreamComparison& made);
std::vector<Facts> worker_rows(const StreamComparison& made);

BesideOne beside_one(const StreamComparison& made, std::string model);

// The best plan against one worker, why the next ones are slower, and advice: a line each.
std::string summary_text(const StreamComparison& made);

// Bytes between workers, for one request.
double wire_bytes_per_request(const StreamPrediction& plan);

// The same members as for one request (summary.h); milliseconds are those between answers.
Json to_json(const StreamComparison& made, const std::string& model);

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

// Likewise with its plans, for these graphs of its models. Fails as plan_tenants() does. REQUIRES:
// as many graphs as models.
Result<Tenancy> plan_together(Tenancy asked, std::span<const Graph> graphs,
                              const PlanOptions& options = {});

// A row for each model, and one for each worker with its work for each model.
std::vector<Facts> model_rows(const Tenancy& made);
std::vector<Facts> worker_rows(const Tenancy& made);

Json to_json(const Tenancy& made);

// Mean, p50 and p99 of both.
Json to_json(const StragglerLatencies& latencies);
// A row for waiting, one for the first sufficient results, and the savings. For a plan of this name
// for this model.
std::vector<Facts> rows_of(const StragglerLatencies& latencies, const std::string& model,
                           const std::string& plan);

}  // namespace shoal::plan
