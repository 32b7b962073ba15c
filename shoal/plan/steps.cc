#include "shoal/plan/steps.h"

#include <algorithm>
#include <map>

namespace shoal::plan {
namespace {

size_t machines_of(const ClusterProfile& cluster) { return cluster.workers.size() + 1; }
size_t index_of(int machine) { return static_cast<size_t>(machine + 1); }

class StepMaker {
 public:
  StepMaker(const Graph& graph, const Plan& plan, std::span<const Transfer> transfers,
            const ClusterProfile& cluster)
      : graph_(graph), plan_(plan), transfers_(transfers), cluster_(cluster) {}

  Steps run(const std::vector<std::span<const double>>& seconds) {
    steps_.tasks.resize(cluster_.workers.size());
    steps_.awaited.resize((plan_.segments.size() + 1) * machines_of(cluster_));
    for (size_t s = 0; s < plan_.segments.size(); ++s) {
      for (size_t t = 0; t < plan_.segments[s].tasks.size(); ++t) add_task(s, t, seconds[s][t]);
    }
    for (size_t i = 0; i < transfers_.size(); ++i) add_message(i);
    return std::move(steps_);
  }

 private:
  Slot slot_of(size_t segment, int machine) const {
    return segment * machines_of(cluster_) + index_of(machine);
  }

  void add_task(size_t s, size_t t, double seconds) {
    const Task& task = plan_.segments[s].tasks[t];
    const auto w = static_cast<size_t>(task.worker);
    std::vector<TaskStep>& list = steps_.tasks[w];
    for (const Piece& piece : task.outputs) {
      made_[{piece.value, task.worker}].push_back({piece.region, list.size()});
    }
    list.push_back({s, t, slot_of(s, task.worker), seconds, {}});
  }

  void add_message(size_t index) {
    const auto& [segment, from, to, piece] = transfers_[index];
    const LinkProfile &out = cluster_.link_of(from), &in = cluster_.link_of(to);
    const auto bytes = static_cast<double>(bytes_of(graph_, piece));
    const Slot slot = slot_of(segment, to);
    steps_.messages.push_back({from, to, slot,
                               bytes / std::min(out.bytes_per_second, in.bytes_per_second),
                               std::max(out.latency_seconds, in.latency_seconds), bytes,
                               resources_of(cluster_, from, to)});
    ++steps_.awaited[slot];
    if (to == kCoordinator) ++steps_.answers;
    const auto makers = made_.find({piece.value, from});
    if (makers == made_.end()) {
      steps_.inputs.push_back(index);
      return;
    }
    // The last task that makes some of it, for a worker computes its tasks in order.
    size_t last = 0;
    for (const Made& made : makers->second) {
      if (!is_empty(intersection(made.region, piece.region))) last = std::max(last, made.task);
    }
    steps_.tasks[static_cast<size_t>(from)][last].sends.push_back(index);
  }

  struct Made {
    Region region;
    size_t task;  // in the worker's list
  };
  const Graph& graph_;
  const Plan& plan_;
  const std::span<const Transfer> transfers_;
  const ClusterProfile& cluster_;
  std::map<std::pair<ValueId, int>, std::vector<Made>> made_;  // by value and worker
  Steps steps_;
};

}  // namespace

Steps make_steps(const Graph& graph, const Plan& plan,
                 const std::vector<std::span<const double>>& seconds,
                 std::span<const Transfer> transfers, const ClusterProfile& cluster) {
  return StepMaker(graph, plan, transfers, cluster).run(seconds);
}

Steps make_steps(const Graph& graph, const Plan& plan, const Schedule& schedule,
                 const ClusterProfile& cluster) {
  std::vector<std::vector<double>> seconds;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    auto& of_tasks = seconds.emplace_back();
    for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
      const auto worker = static_cast<size_t>(plan.segments[s].tasks[t].worker);
      of_tasks.push_back(seconds_of(graph, schedule.parts[s][t], cluster.workers[worker]));
    }
  }
  return make_steps(graph, plan, {seconds.begin(), seconds.end()}, schedule.transfers, cluster);
}

double awake_at(const ClusterProfile& cluster, int machine, double now, double heard) {
  if (machine == kCoordinator) return now;
  const LinkProfile& link = cluster.link_of(machine);
  if (cluster.keep_awake) return std::max(now, link.wakeup_seconds);
  return now - heard > link.sleep_after_seconds ? now + link.wakeup_seconds : now;
}

Resources resources_of(const ClusterProfile& cluster, int from, int to) {
  const size_t machines = machines_of(cluster);
  Resources uses;
  uses.push_back(index_of(from));
  uses.push_back(machines + index_of(to));
  const int out = cluster.link_of(from).medium, in = cluster.link_of(to).medium;
  if (out != kOwnWire) uses.push_back(2 * machines + static_cast<size_t>(out));
  if (in != kOwnWire && in != out) uses.push_back(2 * machines + static_cast<size_t>(in));
  return uses;
}

size_t resource_count(const ClusterProfile& cluster) {
  int media = cluster.coordinator.medium + 1;
  for (const LinkProfile& link : cluster.links) media = std::max(media, link.medium + 1);
  return 2 * machines_of(cluster) + static_cast<size_t>(media);
}

}  // namespace shoal::plan
