#include "shoal/cluster/profiling/profiling.h"

#include <algorithm>
#include <vector>

#include "shoal/cluster/tasks/programs.h"
#include "shoal/model/ops/ops.h"
#include "shoal/plan/cost/fit.h"

namespace shoal::cluster {
namespace {

// A graph cut into its nodes.
struct Cut {
  std::vector<Graph> nodes;           // and last, the whole
  std::vector<plan::Sample> samples;  // of the nodes, not timed yet
  double whole_bytes = 0;             // weights and activations of the whole
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
  cut.whole_bytes = static_cast<double>(estimated_bytes(graph));
  return cut;
}

// The samples that were timed.
std::vector<plan::Sample> timed(std::vector<plan::Sample> samples,
                                std::span<const std::optional<double>> seconds) {
  std::vector<plan::Sample> done;
  for (size_t n = 0; n < samples.size(); ++n) {
    if (!seconds[n]) continue;
    samples[n].seconds = *seconds[n];
    done.push_back(std::move(samples[n]));
  }
  return done;
}

Result<MeasuredWorker> measure_worker(WorkerProbe& probe, const std::string& name, const Cut& cut,
                                      double timeout) {
  MeasuredWorker found;
  SHOAL_ASSIGN(found.link, probe.measure_link());
  // Before the nodes are timed: after that, its own load would take a while to go.
  SHOAL_ASSIGN(const WorkerState state, probe.state());
  // A worker that cannot hold the whole graph, with its weights once as they came and once packed,
  // should not begin to swap. It is measured by parts: the sum of the nodes is good enough.
  const bool holds_all = 2 * cut.whole_bytes <= static_cast<double>(state.free_bytes);
  const auto graphs = std::span(cut.nodes).first(cut.nodes.size() - (holds_all ? 0 : 1));
  SHOAL_ASSIGN(const auto seconds, probe.time(graphs, timeout));
  const std::vector<plan::Sample> samples = timed(cut.samples, seconds);
  if (samples.empty() && !cut.samples.empty()) {
    return Status(Code::kExhausted, "it has no memory for any node of the model")
        .at("worker " + name);
  }
  // Together, nodes save repacking; that is comparable only where all of them were timed.
  const bool all_timed = holds_all && seconds.back() && samples.size() == cut.samples.size();
  found.profile = plan::fit_worker(name, samples, all_timed ? *seconds.back() : 0);
  found.profile.memory_bytes = static_cast<double>(std::min(state.free_bytes, state.plan_bytes));
  found.profile.slowdown = state.slowdown;
  return found;
}

}  // namespace

Result<std::vector<Result<MeasuredWorker>>> measure_workers(const Graph& graph,
                                                            std::span<const ListedWorker> workers,
                                                            net::Transport& transport,
                                                            const ProfilingOptions& options) {
  SHOAL_ASSIGN(const Cut cut, cut_into_nodes(graph));
  std::vector<Result<MeasuredWorker>> measured;
  std::vector<Result<WorkerProbe>> probes = WorkerProbe::open_all(workers, transport);
  for (size_t w = 0; w < workers.size(); ++w) {
    if (probes[w].ok()) {
      measured.push_back(
          measure_worker(*probes[w], workers[w].name, cut, options.seconds_per_node));
    } else {
      measured.push_back(probes[w].status());
    }
  }
  return measured;
}

plan::ClusterProfile assemble(std::span<const ListedWorker> workers,
                              std::span<const std::optional<MeasuredWorker>> known) {
  plan::ClusterProfile cluster;
  // Each measurement covers both ends, so the coordinator's own link is at least as fast as the
  // fastest. It begins every request, so its radio is awake.
  cluster.coordinator.bytes_per_second = 0;
  for (size_t w = 0; w < workers.size(); ++w) {
    cluster.workers.push_back(known[w] ? known[w]->profile : plan::absent_worker(workers[w].name));
    cluster.links.push_back(known[w] ? known[w]->link : plan::LinkProfile());
    if (known[w] && known[w]->link.bytes_per_second > cluster.coordinator.bytes_per_second) {
      cluster.coordinator = known[w]->link;
    }
  }
  if (cluster.coordinator.bytes_per_second == 0) cluster.coordinator = {};
  cluster.coordinator.wakeup_seconds = 0;
  return cluster;
}

namespace {

Result<WorkerInspection> inspect(WorkerProbe& probe) {
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
  WorkerInspection found;
  SHOAL_ASSIGN(found.state, probe.state());
  SHOAL_ASSIGN(found.link, probe.measure_link());
  SHOAL_ASSIGN(const auto seconds, probe.time({&graph, 1}, kSeconds));
  if (!seconds[0]) return Status(Code::kExhausted, "no memory to measure it");
  found.macs_per_second = kMacs / *seconds[0];
  return found;
}

}  // namespace

std::vector<Result<WorkerInspection>> inspect_workers(std::span<const ListedWorker> workers,
                                                      net::Transport& transport) {
  std::vector<Result<WorkerInspection>> seen;
  for (Result<WorkerProbe>& probe : WorkerProbe::open_all(workers, transport)) {
    if (probe.ok()) {
      seen.push_back(inspect(*probe));
    } else {
      seen.push_back(probe.status());
    }
  }
  return seen;
}

}  // namespace shoal::cluster
