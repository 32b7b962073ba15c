#include "shoal/cluster/profiling.h"

#include <algorithm>
#include <vector>

#include "shoal/ops/ops.h"
#include "shoal/plan/cost/fit.h"

namespace shoal::cluster {
namespace {

// A graph cut into its nodes.
struct Cut {
  std::vector<Graph> nodes;           // and last, the whole
  std::vector<plan::Sample> samples;  // of the nodes, not timed yet
};

Result<plan::Part> whole_part(const Graph& graph, plan::NodeRange nodes) {
  std::vector<plan::Piece> outputs;
  for (size_t n = nodes.begin; n < nodes.end; ++n) {
    for (ValueId id : graph.nodes()[n].outputs) {
      outputs.push_back({id, Region::whole(graph[id].type.shape)});
    }
  }
  return plan::make_part(graph, nodes, std::move(outputs));
}

Result<Cut> cut_into_nodes(const Graph& graph) {
  Cut cut;
  // Each node alone, to fit operators, and the whole graph, because nodes that follow each other
  // save repacking: fit_worker() scales the sum to it.
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    SHOAL_ASSIGN(const plan::Part part, whole_part(graph, {n, n + 1}));
    SHOAL_ASSIGN(Graph alone, plan::to_graph(graph, part));
    cut.nodes.push_back(std::move(alone));
    cut.samples.push_back({std::string(node.op->name), graph[node.outputs[0]].name,
                           plan::work_of(graph, part.nodes.front()), 0});
  }
  cut.nodes.push_back(graph);
  return cut;
}

Result<plan::WorkerProfile> measure_worker(WorkerProbe& probe, const std::string& name, Cut cut,
                                           double timeout) {
  SHOAL_ASSIGN(const std::vector<double> seconds, probe.time(cut.nodes, timeout));
  for (size_t n = 0; n < cut.samples.size(); ++n) cut.samples[n].seconds = seconds[n];
  plan::WorkerProfile profile = plan::fit_worker(name, cut.samples, seconds.back());
  SHOAL_ASSIGN(const WorkerState state, probe.state());
  profile.memory_bytes = static_cast<double>(state.free_bytes);
  return profile;
}

}  // namespace

Result<plan::ClusterProfile> measure_cluster(const Graph& graph,
                                             std::span<const ListedWorker> workers,
                                             net::Transport& transport,
                                             const ProfilingOptions& options) {
  if (workers.empty()) return invalid("there are no workers to measure");
  SHOAL_ASSIGN(const Cut cut, cut_into_nodes(graph));
  plan::ClusterProfile cluster;
  for (const ListedWorker& worker : workers) {
    SHOAL_ASSIGN(WorkerProbe probe, WorkerProbe::open(worker, transport));
    SHOAL_ASSIGN(plan::LinkProfile link, probe.measure_link());
    SHOAL_ASSIGN(plan::WorkerProfile profile,
                 measure_worker(probe, worker.name, cut, options.seconds_per_node));
    cluster.links.push_back(link);
    cluster.workers.push_back(std::move(profile));
  }
  // Each measurement covers both ends, so the coordinator's own link is at least as fast as the
  // fastest.
  cluster.coordinator =
      *std::ranges::max_element(cluster.links, {}, &plan::LinkProfile::bytes_per_second);
  // The coordinator begins every request, so its radio is awake.
  cluster.coordinator.wakeup_seconds = 0;
  return cluster;
}

Result<WorkerInspection> inspect_worker(const ListedWorker& worker, net::Transport& transport) {
  constexpr int64_t kChannels = 64, kSide = 56, kKernel = 3;
  constexpr double kMacs = kChannels * kChannels * kKernel * kKernel * kSide * kSide;
  constexpr double kSeconds = 0.1;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, kChannels, kSide, kSide}});
  const ValueId w =
      graph.add_constant("w", Tensor({DType::kF32, {kChannels, kChannels, kKernel, kKernel}}));
  SHOAL_ASSIGN(const ValueId y,
               graph.add(ops::conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  graph.mark_output(y);
  SHOAL_ASSIGN(WorkerProbe probe, WorkerProbe::open(worker, transport));
  WorkerInspection found;
  SHOAL_ASSIGN(found.state, probe.state());
  SHOAL_ASSIGN(found.link, probe.measure_link());
  SHOAL_ASSIGN(const std::vector<double> seconds, probe.time({&graph, 1}, kSeconds));
  found.macs_per_second = kMacs / seconds[0];
  return found;
}

}  // namespace shoal::cluster
