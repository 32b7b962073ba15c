// Demand: what a plan takes of a cluster for each request, and what it leaves to others.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Of one request, or of all requests of a second: then in parts of the time there is.
struct Demand {
  std::vector<double> compute;  // seconds, by worker
  std::vector<double> network;  // seconds, by resource (resources_of())
  std::vector<double> memory;   // bytes, by worker, however many requests there are

  friend bool operator==(const Demand&, const Demand&) = default;
};

// Of so many requests. REQUIRES: the steps are those of the prediction on this cluster.
Demand demand_of(const Prediction& made, const Steps& steps, const ClusterProfile& cluster,
                 double requests);

Demand sum_of(std::span<const Demand> demands, const ClusterProfile& cluster);

// Whether no worker and no link has more than all its time to give, and no worker more than its
// memory.
bool is_met(const Demand& total, const ClusterProfile& cluster);

// The cluster as it looks to somebody who has what `others` leave: a worker that is busy for a part
// u of the time computes 1 / (1 - u) times as long, and likewise for links. Workers and links with
// nothing left are absent.
ClusterProfile left_by(const Demand& others, const ClusterProfile& cluster);

// Time of an answer on left_by(others, cluster), from the steps of the cluster itself.
double seconds_among(const Demand& others, Steps steps, const ClusterProfile& cluster);

}  // namespace shoal::plan
