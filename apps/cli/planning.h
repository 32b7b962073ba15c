// A model, a cluster, and the plans for them: shared by 'shoal plan' and 'shoal simulate'.
#pragma once

#include <string>
#include <vector>

#include "apps/commands/plans/plan.h"
#include "apps/flags/flags.h"
#include "apps/flags/json.h"
#include "cluster_flags.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/comparison/conclusion.h"

namespace shoal::cli {

struct PlanFlags : config::PlanSettings {
  std::string model;
  ClusterFlags cluster;
  std::vector<std::string> shapes;
  // Device of this machine: it sees ranges for --wire int8, and computes as a rank of MPI.
  std::string local_device = "cpu";

  void add_to(Command& command);
  // --cluster, and how to split on it.
  Option* add_cluster_to(Command& command);
  // The devices of this machine that are the workers, "cpu+opencl:0"; empty: not a board.
  std::string_view board() const;
};

using config::Planned;
using config::PlannedStream;
using config::ProfileOf;

inline plan::PlanOptions options_of(const PlanFlags& flags) { return flags.options(); }
inline plan::StreamOptions stream_options(const PlanFlags& flags) { return flags.stream_options(); }
inline bool is_forced(const PlanFlags& flags) { return flags.is_forced(); }

// The cluster that the flags describe, or the devices of a board, which are measured at the model.
Result<plan::ClusterProfile> make_cluster(const PlanFlags& flags);
// REQUIRES: the flags have a board.
Result<plan::ClusterProfile> measure_board(const PlanFlags& flags);

Result<Planned> make_planned(const PlanFlags& flags, const ProfileOf& profile_of);
Result<Planned> make_planned(const PlanFlags& flags, plan::ClusterProfile cluster);
// With other options than those of the flags.
Result<Planned> make_planned(const PlanFlags& flags, plan::PlanOptions options,
                             const ProfileOf& profile_of);

Result<PlannedStream> make_planned_stream(const PlanFlags& flags, const ProfileOf& profile_of);
Result<PlannedStream> make_planned_stream(const PlanFlags& flags, plan::ClusterProfile cluster);

}  // namespace shoal::cli
