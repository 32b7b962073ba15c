// Clustered layers: sparse fully-connected layers in steps that a plan can give to workers. The
// rewrite is all that there is to it: planner, schedule and workers see an ordinary graph.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/sparse/clusters.h"

namespace shoal::plan {

// A node to be computed by clusters, one for each worker. The first worker is the hub.
struct ClusteredLayer {
  size_t node = 0;
  std::vector<double> speeds;  // non-zeros in a second of each worker
  double seconds_per_value = 0;

  friend bool operator==(const ClusteredLayer&, const ClusteredLayer&) = default;
};

// The clusters of a layer are make_clusters() of its weight, these workers and this seed.
inline constexpr uint64_t kClusterSeed = 1;
ClusterWorkers workers_of(const ClusteredLayer& layer);

// Whether the node multiplies by a constant matrix of reals, large enough and with enough zeros
// for clusters to be of use. It is enough to look at a sample of the weights.
bool can_be_clustered(const Graph& graph, const Node& node);

struct ClusteredGraph {
  Graph graph;
  int64_t dense_bytes = 0;  // that travel where the layers are split as dense ones are
};

// The same function as `graph` of finite inputs. kUnsupported if a node is no product with a
// constant matrix, or has no work for some worker; kInvalidArgument where speeds are none.
// REQUIRES: the nodes are of the graph.
Result<ClusteredGraph> with_clusters(const Graph& graph, const std::vector<ClusteredLayer>& layers);

}  // namespace shoal::plan
