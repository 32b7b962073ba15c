// A model, a cluster, and the plans for them: shared by 'shoal plan' and 'shoal simulate'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "apps/flags/json.h"
#include "cluster_flags.h"
#include "shoal/graph/graph.h"
#include "shoal/plan/search/comparison.h"
#include "shoal/plan/search/explanation.h"
#include "wire_flags.h"

namespace shoal::cli {

struct PlanFlags {
  std::string model;
  ClusterFlags cluster;
  std::vector<std::string> shapes;
  std::string objective = "latency";
  std::string split = "any";
  std::string search = "auto";
  size_t fuse = 0;  // nodes in a segment; 0: as many as is good
  std::vector<int> excluded;
  std::string network;  // of a cluster that is there: "own", "mpi", "board:cpu+opencl:0"; or none
  bool exclusive = false;  // take its workers over from others
  // Device of this machine: it sees ranges for --wire int8, and computes as a rank of MPI.
  std::string local_device = "cpu";
  WireFlags wire;
  int survive = 0;
  double wait_ms = 0;
  uint64_t verify = 0;  // one request of so many is checked for lies; 0: none

  void add_to(Command& command);
  // --cluster, and how to split on it.
  Option* add_cluster_to(Command& command);
  bool is_on_cluster() const { return !network.empty(); }
  bool is_stream() const { return objective == "throughput"; }
  // The devices of this machine that are the workers, "cpu+opencl:0"; empty: others are.
  std::string_view board() const;

 private:
  void add_split_to(const FlagGroup& group);
  Status check() const;  // of flags that do not go together
};

struct Planned : plan::Comparison {
  std::string model;
  plan::PlanOptions options = {};  // that the plans were made by
};

plan::PlanOptions options_of(const PlanFlags& flags);

// How fast a cluster is at a graph.
using ProfileOf = std::function<Result<plan::ClusterProfile>(const Graph&)>;

// The cluster that the flags describe, or the devices of a board, which are measured at the model.
Result<plan::ClusterProfile> make_cluster(const PlanFlags& flags);
// REQUIRES: the flags have a board.
Result<plan::ClusterProfile> measure_board(const PlanFlags& flags);

// Whether so many workers can survive what the flags ask for.
Status check_survival(const PlanFlags& flags, const plan::ClusterProfile& cluster);

Result<Planned> make_planned(const PlanFlags& flags, const ProfileOf& profile_of);
Result<Planned> make_planned(const PlanFlags& flags, plan::ClusterProfile cluster);
// With other options than the flags ask for.
Result<Planned> make_planned(const PlanFlags& flags, plan::PlanOptions options,
                             const ProfileOf& profile_of);

// The plan for scripts, whose fields are stable: docs/reference/cli.md.
Json to_json(const Planned& planned);

}  // namespace shoal::cli
