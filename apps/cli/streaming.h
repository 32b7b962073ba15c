// A model, a cluster, and plans for a stream of requests: --objective throughput.
#pragma once

#include <string>

#include "apps/flags/json.h"
#include "planning.h"
#include "shoal/plan/stream/stream_comparison.h"

namespace shoal::cli {

struct PlannedStream : plan::StreamComparison {
  std::string model;
};

// What the flags ask for, and whether plans for one worker are left out.
plan::StreamOptions stream_options(const PlanFlags& flags);
bool is_forced(const PlanFlags& flags);

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, const ProfileOf& profile_of);
Result<PlannedStream> make_planned_stream(const PlanFlags& flags, plan::ClusterProfile cluster);

void print(const PlannedStream& planned);

// The same fields as a plan for one request has; milliseconds are those between answers.
Json to_json(const PlannedStream& planned);

}  // namespace shoal::cli
