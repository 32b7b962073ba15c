// Networks that a cluster answers faster than the one that was given, each with its control: what
// fit() tries when no plan is fast enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/fit_cluster/fit_cluster.h"

namespace shoal::fit_cluster {

// All that such a network is made from. What is referred to outlives the call.
struct Task {
  const shrink::ShrinkDevices& devices;
  const Model& model;
  const fit::JudgedData& data;
  const FitOptions& options;
  const plan::ClusterProfile& cluster;
  const shrink::ShrinkCallbacks& callbacks;
  const plan::WireOptions& wire;   // how messages may travel, with the ranges of the given network
  double ms = 0;                   // that a request may take
  std::filesystem::path out = {};  // where the network goes
};

// A network that has learned, in Task::out; or why there is none.
struct OtherNetwork {
  Graph graph = {};                          // for one image, as plans see it
  std::vector<plan::Prediction> plans = {};  // without rounded messages, the best first
  double top1 = 0, top1_control = 0;         // on the test examples
  int64_t macs = 0;                          // for one image
  std::string why_not = {};
};

// All fail as learning does, and with kCancelled if the callbacks say so.

// Units go where the plan waits.
Result<OtherNetwork> smaller_network(const Task& task);
// Fully connected layers fall into blocks, one for each worker, with few values between them.
Result<OtherNetwork> network_of_clusters(const Task& task);
// Narrow branches, one for each worker, which exchange nothing: as wide as the time allows.
Result<OtherNetwork> network_of_branches(const Task& task);

// The network in a file, with its plans: what all of these end with.
Result<OtherNetwork> planned_file(const std::filesystem::path& file,
                                  const plan::ClusterProfile& cluster);

// The weights of Gemm and MatMul layers that are worth a message, by name.
std::vector<std::string> weights_for_blocks(const Graph& graph);

// The penalty under which a weight falls into n blocks, as train::parse_regularizer takes it.
std::string penalty_for_blocks(const std::string& weight, size_t blocks);

// The graph without those values of these weights outside blocks that are small: groups whose norm
// is at most `share` of the largest one's, below 1. With a share near 1 nearly nothing is left but
// blocks, which is the most that learning could reach.
Result<Graph> in_blocks(const Graph& graph, const std::vector<std::string>& weights, size_t blocks,
                        double share);

}  // namespace shoal::fit_cluster
