// From a plan and its transfers to steps. Redundancy becomes groups: messages with copies of one
// box form a group that needs one of them; members of one code at one reader form a group that
// needs all but plan.survives of them. A reader that holds a member itself is not sent it, so N + r
// - 1 messages then need N - 1, which the same difference gives.
#include "shoal/plan/cost/steps.h"

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
      : graph_(graph), plan_(plan), transfers_(transfers), cluster_(cluster) {
    for (size_t c = 0; c < plan.codes.size(); ++c) {
      for (ValueId id : plan.codes[c].data) codes_[id] = {c, false};
      for (ValueId id : plan.codes[c].parity) codes_[id] = {c, true};
    }
  }

  Steps run(const std::vector<std::span<const double>>& seconds) {
    steps_.tasks.resize(cluster_.workers.size());
    steps_.awaited.resize((plan_.segments.size() + 1) * machines_of(cluster_));
    for (size_t s = 0; s < plan_.segments.size(); ++s) {
      for (size_t t = 0; t < plan_.segments[s].tasks.size(); ++t) add_task(s, t, seconds[s][t]);
    }
    for (size_t i = 0; i < transfers_.size(); ++i) add_message(i);
    for (const Group& group : steps_.groups) ++steps_.awaited[group.slot];
    steps_.answer = slot_of(plan_.segments.size(), kCoordinator);
    steps_.wait_seconds = plan_.wait_seconds;
    steps_.forgets = plan_.survives > 0;
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
    if (plan_.survives > 0 && from != kCoordinator) {
      add_to_group(steps_.messages.back(), piece);
    } else {
      ++steps_.awaited[slot];
    }
    const auto makers = made_.find({piece.value, from});
    if (makers == made_.end()) {
      steps_.inputs.push_back(index);
      return;
    }
    // Sent after the last task that makes some of it: a worker computes its tasks in order.
    size_t last = 0;
    for (const Made& made : makers->second) {
      if (!is_empty(intersection(made.region, piece.region))) last = std::max(last, made.task);
    }
    steps_.tasks[static_cast<size_t>(from)][last].sends.push_back(index);
  }

  // Replicas send the same boxes. The linear search is quadratic in the groups, and only plans with
  // redundancy have any.
  void add_to_group(Message& message, const Piece& piece) {
    const auto coded = codes_.find(piece.value);
    const bool is_code = coded != codes_.end();
    const GroupKey key{message.slot, is_code ? coded->second.code : plan_.codes.size(),
                       is_code ? kNoValue : piece.value, is_code ? Region() : piece.region};
    const auto it = std::ranges::find(keys_, key);
    message.group = static_cast<size_t>(it - keys_.begin());
    if (it == keys_.end()) {
      keys_.push_back(key);
      steps_.groups.push_back({message.slot, is_code ? 0u : 1u, 0, is_code});
    }
    Group& group = steps_.groups[message.group];
    if (!is_code) return;
    message.is_parity = coded->second.is_parity;
    ++members_[message.group];
    if (!message.is_parity) ++group.data;
    const auto spare = static_cast<size_t>(plan_.survives);
    group.needed = std::max<size_t>(members_[message.group], spare + 1) - spare;
  }

  struct GroupKey {
    Slot slot;
    size_t code;
    ValueId value;
    Region region;
    friend bool operator==(const GroupKey&, const GroupKey&) = default;
  };
  struct Membership {
    size_t code;
    bool is_parity;
  };
  struct Made {
    Region region;
    size_t task;  // in the worker's list
  };
  const Graph& graph_;
  const Plan& plan_;
  const std::span<const Transfer> transfers_;
  const ClusterProfile& cluster_;
  std::map<std::pair<ValueId, int>, std::vector<Made>> made_;  // by value and worker
  std::map<ValueId, Membership> codes_;
  std::vector<GroupKey> keys_;        // by group
  std::map<size_t, size_t> members_;  // by group: messages
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
  // Radios are woken at time 0 and kept awake, so only a request's first messages can be early.
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

// Layout of resources: a way out for each machine, a way in for each machine, the media.
size_t resource_count(const ClusterProfile& cluster) {
  int media = cluster.coordinator.medium + 1;
  for (const LinkProfile& link : cluster.links) media = std::max(media, link.medium + 1);
  return 2 * machines_of(cluster) + static_cast<size_t>(media);
}

}  // namespace shoal::plan
