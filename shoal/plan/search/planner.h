// Planner: a pure function from a graph and measured profiles to a plan. It cuts the graph at
// places that few values cross, and finds, by dynamic programming over those cuts, which nodes to
// compute together and how to spread each such segment over workers.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/coding/products.h"
#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/search/wire_format.h"
#include "shoal/plan/sparse/clustered_layers.h"

namespace shoal::plan {

struct PlanOptions {
  std::vector<Cut> cuts = {};  // to consider besides one worker; empty: all
  // Cut over all workers wherever possible, even if slower: for comparison.
  bool forced = false;
  std::vector<int> excluded = {};  // workers not to be used
  size_t most_nodes = 1 << 20;     // in one segment that is cut
  WireOptions wire = {};           // values that may travel in fewer bytes
  int survive = 0;                 // number of workers that may be lost, 0 to 2
  double wait_seconds = 0;         // for missing data, before decoding
};

// Cost of redundancy, against the best plan without it and against repeating that plan.
struct Price {
  double unprotected_seconds = 0, repeated_seconds = 0;
  double compute = 1, repeated_compute = 1;  // multiples of the unprotected plan's products
  double wire_bytes = 0, memory_bytes = 0;   // more than without, over all workers
  // Seconds of the fastest plan found within price_bound(); 0: there is none.
  double bounded_seconds = 0, bounded_compute = 0;
};

struct Origin {
  std::vector<SumOfTerms> sums = {};          // products that the graph computes as sums
  std::vector<ClusteredLayer> clusters = {};  // or layers that it computes by clusters
  int64_t dense_bytes = 0;  // that would travel if those layers were split as dense ones are
  Plan plan = {};           // of that graph
  std::string name = {};
  bool narrow = false;  // fewer bytes travel
  bool coded = false;   // if it survives losses: codes products where possible
  Price price = {};
};

// A plan and what it should take.
struct Prediction {
  std::string name;  // the kind of it: "rows", "one worker", "grid and channels"
  // Its graph is the one asked about, or one that computes the same in other steps.
  ScheduledPlan scheduled;
  Timeline timeline;
  // Error bound of rounding on the wire, as a part of the answer's largest element.
  double error = 0;
  Price price = {};  // of a plan that survives losses
  Origin origin = {};

  const Graph& graph() const { return scheduled.graph(); }
  const Plan& plan() const { return scheduled.plan(); }
  const Schedule& schedule() const { return scheduled.schedule(); }
};

// The best plan, then the best of every other kind, for comparison. There is at least one.
// kExhausted if no worker, or group of workers, has the memory. Takes up to seconds.
Result<std::vector<Prediction>> make_plans(const Graph& graph, const ClusterProfile& cluster,
                                           const PlanOptions& options = {});

// Kinds of cuts that suit some value of the graph.
std::vector<Cut> useful_cuts(const Graph& graph);

// Simulates a plan in virtual time.
Prediction predict(std::string name, ScheduledPlan scheduled, const ClusterProfile& cluster);
// Whether every worker has the memory for its tasks.
bool fits(const ClusterProfile& cluster, const Prediction& prediction);

// Everything on one worker.
Result<Prediction> plan_for_one(const Graph& graph, const ClusterProfile& cluster, int worker);

}  // namespace shoal::plan
