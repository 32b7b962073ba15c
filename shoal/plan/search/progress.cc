// Incremental estimate of a plan. The state is small: when each machine and each resource of the
// network is free, and where the live boxes are. Adding a segment costs O(tasks * inputs *
// holdings). Received boxes are not remembered: a box that a worker reads in two segments is
// counted twice here, although the schedule sends it once.
#include "shoal/plan/search/progress.h"

#include <algorithm>

#include "shoal/plan/boxes.h"

namespace shoal::plan {

Progress::Progress(const Graph& graph, const ClusterProfile& cluster)
    : graph_(&graph),
      cluster_(&cluster),
      machines_(cluster.workers.size() + 1),
      free_(resource_count(cluster)) {
  for (ValueId id : graph.inputs()) {
    holdings_.push_back({id, kCoordinator, Region::whole(graph[id].type.shape), 0});
  }
}

std::optional<Progress> Progress::after(const Candidate& candidate, size_t end_node,
                                        const std::vector<size_t>& last_reads) const {
  Progress next = *this;
  std::vector<Holding> made;
  for (size_t t = 0; t < candidate.tasks.size(); ++t) {
    const Task& task = candidate.tasks[t];
    Machine& machine = next.machine(task.worker);
    machine.weights += candidate.weight_bytes[t];
    machine.activations = std::max(machine.activations, candidate.activation_bytes[t]);
    const WorkerProfile& worker = cluster_->workers[static_cast<size_t>(task.worker)];
    if (machine.weights + machine.activations > worker.memory_bytes) return std::nullopt;
    double begin = machine.free;
    for (const Piece& piece : candidate.inputs[t]) {
      begin = std::max(begin, next.fetch(task.worker, piece));
    }
    machine.free = begin + candidate.seconds[t];
    for (const Piece& piece : task.outputs) {
      made.push_back({piece.value, task.worker, piece.region, machine.free, candidate.copies});
    }
  }
  // Values that no later node reads must not delay seconds(), by which ways are compared.
  std::erase_if(next.holdings_, [&](const Holding& holding) {
    return last_reads[static_cast<size_t>(holding.value)] <= end_node;
  });
  next.holdings_.insert(next.holdings_.end(), made.begin(), made.end());
  next.seconds_ = 0;
  for (const Holding& holding : next.holdings_) {
    next.seconds_ = std::max(next.seconds_, holding.ready);
  }
  return next;
}

double Progress::soonest(const Candidate& candidate) const {
  double soonest = 0;
  for (size_t t = 0; t < candidate.tasks.size(); ++t) {
    const Machine& machine = machines_[static_cast<size_t>(candidate.tasks[t].worker + 1)];
    soonest = std::max(soonest, machine.free + candidate.seconds[t]);
  }
  return soonest;
}

double Progress::answer_seconds() const {
  Progress last = *this;
  double end = 0;
  for (ValueId id : graph_->outputs()) {
    if ((*graph_)[id].constant) continue;
    end = std::max(end, last.fetch(kCoordinator, {id, Region::whole((*graph_)[id].type.shape)}));
  }
  return end;
}

// Boxes of one value do not overlap, because one layout made them all.
double Progress::fetch(int to, const Piece& piece) {
  const auto element = static_cast<int64_t>(size_of((*graph_)[piece.value].type.dtype));
  double end = 0;
  for (size_t i = 0; i < holdings_.size(); ++i) {
    const Holding& holding = holdings_[i];
    if (holding.value != piece.value) continue;
    const int64_t count = common_count(holding.region, piece.region);
    if (count == 0) continue;
    end = std::max(end,
                   holding.machine == to
                       ? holding.ready
                       : send(holding, to, static_cast<double>(count * element) * holding.copies));
  }
  return end;
}

double Progress::send(const Holding& from, int to, double bytes) {
  const LinkProfile &out = cluster_->link_of(from.machine), &in = cluster_->link_of(to);
  const Resources uses = resources_of(*cluster_, from.machine, to);
  double begin = from.ready;
  Machine &sender = machine(from.machine), &receiver = machine(to);
  // Radio sleep counts from the last message of either end, as in the simulation.
  begin = std::max(begin, awake_at(*cluster_, to, begin, receiver.heard));
  for (Resource resource : uses) begin = std::max(begin, free_[resource]);
  const double busy = bytes / std::min(out.bytes_per_second, in.bytes_per_second);
  for (Resource resource : uses) free_[resource] = begin + busy;
  const double end = begin + busy + std::max(out.latency_seconds, in.latency_seconds);
  sender.heard = receiver.heard = end;
  return end;
}

}  // namespace shoal::plan
