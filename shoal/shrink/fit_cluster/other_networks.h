// Networks that a cluster runs faster than the given one, each with its control: what fit() tries
// when no plan is fast enough.
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

// The inputs of such an attempt. References must outlive the call.
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

// A trained network, in Task::out, or the reason why there is none.
struct OtherNetwork {
  Graph graph = {};                          // for one image, as plans see it
  std::vector<plan::Prediction> plans = {};  // without rounded messages, the best first
  double top1 = 0, top1_control = 0;         // on the test examples
  int64_t macs = 0;                          // for one image
  std::string why_not = {};
};

// All fail as training does, and with kCancelled if the callbacks say so.

// Removes units where the plan waits.
Result<OtherNetwork> smaller_network(const Task& task);
// Fully connected layers as blocks, one per worker, with few values between them.
Result<OtherNetwork> network_of_clusters(const Task& task);
// Narrow branches, one per worker, as wide as the time allows.
Result<OtherNetwork> network_of_branches(const Task& task);

// The network in a file, with its plans: the last step of all of these.
Result<OtherNetwork> planned_file(const std::filesystem::path& file,
                                  const plan::ClusterProfile& cluster);

// The weights of Gemm and MatMul layers that are worth a message, by name.
std::vector<std::string> weights_for_blocks(const Graph& graph);

// The penalty under which a weight falls into n blocks, as train::parse_regularizer takes it.
std::string penalty_for_blocks(const std::string& weight, size_t blocks);

// The graph without small values of these weights outside blocks: groups whose norm is at most
// `share` of the largest. A share near 1 leaves little but blocks: the most that training could
// reach.
Result<Graph> in_blocks(const Graph& graph, const std::vector<std::string>& weights, size_t blocks,
                        double share);

}  // namespace shoal::fit_cluster
