// Planned: a model by its name, and the plans for it that settings ask for.
//
//   SHOAL_ASSIGN(const config::Planned planned,
//                config::make_planned(settings, settings.options(), {"zoo:vgg16", graph},
//                                     profile_of, make_device));
//   std::puts(to_json(planned).dump().c_str());
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apps/commands/plans/plan_settings.h"
#include "shoal/base/status.h"
#include "shoal/base/text/facts.h"
#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

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

// `options` may be others than those of the settings. Where values travel in eight bits, their
// ranges are those of a random input, good for measuring only: `make_device` is called then, after
// the profile is known, for a device that sees them. Fails as these functions and compare_plans().
Result<Planned> make_planned(const PlanSettings& settings, plan::PlanOptions options,
                             const NamedGraph& model, const ProfileOf& profile_of,
                             const std::function<Result<std::unique_ptr<Device>>()>& make_device);

// Fails as `profile_of` and plan::compare_streams() do.
Result<PlannedStream> make_planned_stream(const PlanSettings& settings, NamedGraph model,
                                          const ProfileOf& profile_of);

// The plan for scripts, whose fields are stable: docs/reference/cli.md.
Json to_json(const Planned& planned);
Json to_json(const PlannedStream& planned);

}  // namespace shoal::config
