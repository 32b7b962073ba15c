#include "shoal/plan/simulate.h"

#include <algorithm>
#include <map>
#include <queue>

namespace shoal::plan {
namespace {

// Events in the order of time; of those at one time, first come first served.
class Simulation {
 public:
  Simulation(const Graph& graph, const Plan& plan, const Schedule& schedule,
             const ClusterProfile& cluster)
      : graph_(graph), plan_(plan), schedule_(schedule), cluster_(cluster) {
    const size_t workers = cluster.workers.size();
    line_.transfers.resize(schedule.transfers.size());
    line_.compute_seconds.resize(workers);
    line_.transfer_seconds.resize(workers);
    nodes_.resize(workers + 1);
    for (size_t s = 0; s < plan.segments.size(); ++s) {
      line_.tasks.emplace_back(plan.segments[s].tasks.size());
      for (size_t t = 0; t < plan.segments[s].tasks.size(); ++t) {
        node(plan.segments[s].tasks[t].worker).tasks.push_back({s, t});
      }
    }
  }

  Timeline run() {
    for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
      const Transfer& transfer = schedule_.transfers[i];
      ++missing_[{transfer.segment, transfer.to}];
      by_source_[{static_cast<int32_t>(transfer.piece.value), transfer.from}].push_back(i);
    }
    for (ValueId id : graph_.inputs()) send(id, kCoordinator, 0);
    for (size_t w = 0; w < cluster_.workers.size(); ++w) start_next(static_cast<int>(w), 0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      line_.seconds = std::max(line_.seconds, event.time);
      switch (event.kind) {
        case Event::Kind::kSend:
          carry(event.index, event.time);
          break;
        case Event::Kind::kArrive:
          arrive(event.index, event.time);
          break;
        case Event::Kind::kFinish:
          finish(static_cast<int>(event.index), event.time);
          break;
      }
    }
    return std::move(line_);
  }

 private:
  struct TaskIndex {
    size_t segment, task;
  };
  // A worker, or the coordinator.
  struct Machine {
    std::vector<TaskIndex> tasks;  // in order
    size_t next = 0;
    bool busy = false;
    double sends_until = 0, receives_until = 0, heard = -1e18;
  };
  struct Event {
    enum class Kind : uint8_t { kSend, kArrive, kFinish };
    double time;
    size_t order;
    Kind kind;
    size_t index;
    bool operator<(const Event& other) const {  // the queue gives the largest first
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  Machine& node(int worker) { return nodes_[static_cast<size_t>(worker + 1)]; }

  void at(double time, Event::Kind kind, size_t index) {
    events_.push({time, order_++, kind, index});
  }

  // All that waits for a value at `worker`, as soon as the worker has it.
  void send(ValueId value, int worker, double time) {
    const auto it = by_source_.find({static_cast<int32_t>(value), worker});
    if (it == by_source_.end()) return;
    for (size_t transfer : it->second) at(time, Event::Kind::kSend, transfer);
    by_source_.erase(it);
  }

  void carry(size_t index, double time) {
    const Transfer& transfer = schedule_.transfers[index];
    const LinkProfile &from = cluster_.link_of(transfer.from), &to = cluster_.link_of(transfer.to);
    Machine &sender = node(transfer.from), &receiver = node(transfer.to);
    const auto bytes = static_cast<double>(bytes_of(graph_, transfer.piece));
    double begin = std::max({time, sender.sends_until, receiver.receives_until});
    if (cluster_.shared_medium) begin = std::max(begin, medium_until_);
    const bool slept = begin - receiver.heard > to.sleep_after_seconds;
    const bool asleep = slept && (receiver.heard < 0 || !cluster_.keep_awake);
    const double wakeup = asleep ? to.wakeup_seconds : 0;
    const double busy = wakeup + bytes / std::min(from.bytes_per_second, to.bytes_per_second);
    const double end = begin + busy + std::max(from.latency_seconds, to.latency_seconds);
    sender.sends_until = receiver.receives_until = medium_until_ = begin + busy;
    receiver.heard = sender.heard = end;
    line_.transfers[index] = {begin, end};
    line_.wire_bytes += bytes;
    for (int worker : {transfer.from, transfer.to}) {
      if (worker >= 0) line_.transfer_seconds[static_cast<size_t>(worker)] += busy;
    }
    at(end, Event::Kind::kArrive, index);
  }

  void arrive(size_t index, double time) {
    const Transfer& transfer = schedule_.transfers[index];
    --missing_[{transfer.segment, transfer.to}];
    if (transfer.to != kCoordinator) start_next(transfer.to, time);
  }

  // A worker computes its tasks in order, each as soon as all it reads is there.
  void start_next(int worker, double time) {
    Machine& machine = node(worker);
    if (machine.busy || machine.next == machine.tasks.size()) return;
    const auto [segment, task] = machine.tasks[machine.next];
    const auto missing = missing_.find({segment, worker});
    if (missing != missing_.end() && missing->second > 0) return;
    const double seconds = seconds_of(graph_, schedule_.parts[segment][task],
                                      cluster_.workers[static_cast<size_t>(worker)]);
    machine.busy = true;
    line_.tasks[segment][task] = {time, time + seconds};
    line_.compute_seconds[static_cast<size_t>(worker)] += seconds;
    at(time + seconds, Event::Kind::kFinish, static_cast<size_t>(worker));
  }

  void finish(int worker, double time) {
    Machine& machine = node(worker);
    const auto [segment, task] = machine.tasks[machine.next];
    machine.busy = false;
    ++machine.next;
    for (const Piece& piece : plan_.segments[segment].tasks[task].outputs) {
      send(piece.value, worker, time);
    }
    start_next(worker, time);
  }

  const Graph& graph_;
  const Plan& plan_;
  const Schedule& schedule_;
  const ClusterProfile& cluster_;
  std::vector<Machine> nodes_;
  std::map<std::pair<size_t, int>, size_t> missing_;  // transfers, by segment and worker
  std::map<std::pair<int32_t, int>, std::vector<size_t>> by_source_;
  std::priority_queue<Event> events_;
  size_t order_ = 0;
  double medium_until_ = 0;
  Timeline line_;
};

}  // namespace

Timeline simulate(const Graph& graph, const Plan& plan, const Schedule& schedule,
                  const ClusterProfile& cluster) {
  return Simulation(graph, plan, schedule, cluster).run();
}

}  // namespace shoal::plan
