#include "shoal/plan/simulate.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <utility>

namespace shoal::plan {
namespace {

// Of what was not sent, because nobody waited for it any more.
constexpr Span kNever{-1, -1};

// A request on its way.
struct Request {
  const Steps* steps;
  std::vector<size_t> awaited;  // still, by slot
  struct GroupState {
    size_t needed, data;  // still
    bool done = false;
  };
  std::vector<GroupState> groups;
  std::vector<size_t> next;                 // task, by worker
  std::vector<Span> sent;                   // by message
  std::vector<std::vector<Span>> computed;  // by worker and task
  double released = 0, answered = 0;
  bool is_answered = false;
  int slow_worker = kCoordinator;

  explicit Request(const Steps& its)
      : steps(&its),
        awaited(its.awaited),
        next(its.tasks.size()),
        sent(its.messages.size(), kNever),
        computed(its.tasks.size()) {
    for (const Group& group : its.groups) groups.push_back({group.needed, group.data});
  }

  bool is_forgotten() const { return is_answered && steps->forgets; }
  bool is_done(size_t worker) const {
    return is_forgotten() || next[worker] == steps->tasks[worker].size();
  }
};

// Events in the order of time; of those at one time, first come first served.
class Simulation {
 public:
  Simulation(const ClusterProfile& cluster, std::span<const Steps> turns, size_t requests,
             size_t in_flight, const Stragglers& stragglers = {})
      : cluster_(cluster),
        in_flight_(in_flight),
        slowness_(stragglers.times),
        machines_(cluster.workers.size() + 1),
        queues_(resource_count(cluster)) {
    std::mt19937 random(stragglers.seed);
    for (size_t r = 0; r < requests; ++r) {
      requests_.emplace_back(turns[r % turns.size()]);
      if (slowness_ != 1) {
        requests_.back().slow_worker = static_cast<int>(random() % cluster.workers.size());
      }
    }
  }

  std::vector<Request> run() {
    for (size_t r = std::min(in_flight_, requests_.size()); r > 0; --r) release(0);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.kind) {
        case Event::Kind::kAwake:
          ask_now(event.item, event.time);
          break;
        case Event::Kind::kFree:
          free(event.item, event.time);
          break;
        case Event::Kind::kArrive:
          arrive(event.item, event.time);
          break;
        case Event::Kind::kFinish:
          finish(event.item, event.time);
          break;
        case Event::Kind::kWaited:
          satisfy(event.item, event.time);
          break;
      }
    }
    return std::move(requests_);
  }

 private:
  // A message of a request, its next task on a worker, or a group of messages.
  struct Item {
    size_t request, index;
  };
  struct Event {
    enum class Kind : uint8_t { kAwake, kFree, kArrive, kFinish, kWaited };
    double time;
    size_t order;
    Kind kind;
    Item item;
    bool operator<(const Event& other) const {  // the queue gives the largest first
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  struct Machine {
    size_t earliest = 0;  // request that it may still have tasks of
    bool busy = false;
    double heard = kUnheard;
    double awake = 0;  // from then on
  };
  // Who waits for a resource, in the order of asking.
  struct Queue {
    bool busy = false;
    std::map<size_t, Item> waiting;
  };

  Machine& machine(int worker) { return machines_[static_cast<size_t>(worker + 1)]; }
  const Message& message_of(Item item) const {
    return requests_[item.request].steps->messages[item.index];
  }
  void at(double time, Event::Kind kind, Item item) { events_.push({time, order_++, kind, item}); }

  void release(double time) {
    const size_t r = released_++;
    requests_[r].released = time;
    for (size_t message : requests_[r].steps->inputs) ask({r, message}, time);
    for (size_t w = 0; w < cluster_.workers.size(); ++w) start_next(w, time);
  }

  // Whoever has to be woken is, and hears the message then.
  void ask(Item item, double time) {
    Machine& receiver = machine(message_of(item).to);
    const double awake =
        std::max(receiver.awake, awake_at(cluster_, message_of(item).to, time, receiver.heard));
    if (awake <= time) return ask_now(item, time);
    receiver.awake = awake;
    receiver.heard = std::max(receiver.heard, awake);
    at(awake, Event::Kind::kAwake, item);
  }

  void ask_now(Item item, double time) {
    if (start(item, time)) return;
    for (Resource resource : message_of(item).uses) queues_[resource].waiting.emplace(asked_, item);
    ++asked_;
  }

  // A message goes if nothing that it needs is in use.
  bool start(Item item, double time) {
    const Message& message = message_of(item);
    for (Resource resource : message.uses) {
      if (queues_[resource].busy) return false;
    }
    for (Resource resource : message.uses) queues_[resource].busy = true;
    const double end = time + message.seconds + message.latency;
    machine(message.from).heard = machine(message.to).heard = end;
    requests_[item.request].sent[item.index] = {time, end};
    at(time + message.seconds, Event::Kind::kFree, item);
    at(end, Event::Kind::kArrive, item);
    return true;
  }

  void free(Item item, double time) {
    const Resources& uses = message_of(item).uses;
    for (Resource resource : uses) queues_[resource].busy = false;
    for (Resource resource : uses) start_first(queues_[resource].waiting, time);
  }

  void start_first(const std::map<size_t, Item>& waiting, double time) {
    for (const auto& [asked, item] : waiting) {
      if (!start(item, time)) continue;
      const size_t ticket = asked;  // which goes with its entry
      for (Resource resource : message_of(item).uses) queues_[resource].waiting.erase(ticket);
      return;
    }
  }

  void arrive(Item item, double time) {
    const Message& message = message_of(item);
    Request& request = requests_[item.request];
    if (message.group == kNoGroup) return satisfy_slot(item.request, message.slot, time);
    Request::GroupState& state = request.groups[message.group];
    if (state.needed > 0) --state.needed;
    if (!message.is_parity && state.data > 0) --state.data;
    if (state.needed > 0 || state.done) return;
    const bool waits = request.steps->groups[message.group].is_code && state.data > 0;
    const Item group{item.request, message.group};
    if (!waits || request.steps->wait_seconds <= 0) return satisfy(group, time);
    at(time + request.steps->wait_seconds, Event::Kind::kWaited, group);
  }

  // A group has what it needs.
  void satisfy(Item group, double time) {
    Request& request = requests_[group.request];
    if (std::exchange(request.groups[group.index].done, true)) return;
    satisfy_slot(group.request, request.steps->groups[group.index].slot, time);
  }

  void satisfy_slot(size_t r, Slot slot, double time) {
    Request& request = requests_[r];
    const size_t machine = slot % machines_.size();
    if (--request.awaited[slot] > 0) return;
    if (slot != request.steps->answer) return start_next(machine - 1, time);
    request.answered = time;
    request.is_answered = true;
    if (released_ < requests_.size()) release(time);
    if (!request.steps->forgets) return;
    for (size_t w = 0; w < cluster_.workers.size(); ++w) start_next(w, time);
  }

  void start_next(size_t worker, double time) {
    Machine& machine = machines_[worker + 1];
    if (machine.busy) return;
    while (machine.earliest < released_ && requests_[machine.earliest].is_done(worker)) {
      ++machine.earliest;
    }
    for (size_t r = machine.earliest; r < released_; ++r) {
      Request& request = requests_[r];
      if (request.is_done(worker)) continue;
      const TaskStep& task = request.steps->tasks[worker][request.next[worker]];
      if (request.awaited[task.slot] > 0) continue;
      const bool is_slow = request.slow_worker == static_cast<int>(worker);
      const double end = time + task.seconds * (is_slow ? slowness_ : 1);
      machine.busy = true;
      request.computed[worker].push_back({time, end});
      at(end, Event::Kind::kFinish, {r, worker});
      return;
    }
  }

  void finish(Item item, double time) {
    Request& request = requests_[item.request];
    const size_t worker = item.index;
    machines_[worker + 1].busy = false;
    const TaskStep& task = request.steps->tasks[worker][request.next[worker]++];
    if (!request.is_forgotten()) {
      for (size_t message : task.sends) ask({item.request, message}, time);
    }
    start_next(worker, time);
  }

  const ClusterProfile& cluster_;
  const size_t in_flight_;
  const double slowness_;          // of a request's slow worker
  std::vector<Machine> machines_;  // the coordinator first
  std::vector<Queue> queues_;
  std::vector<Request> requests_;
  std::priority_queue<Event> events_;
  size_t order_ = 0, asked_ = 0, released_ = 0;
};

// Who sends or receives how long.
void add_transfers(const Request& request, std::vector<double>& seconds, double& bytes) {
  for (size_t i = 0; i < request.sent.size(); ++i) {
    if (request.sent[i].end < 0) continue;
    const Message& message = request.steps->messages[i];
    bytes += message.bytes;
    for (int worker : {message.from, message.to}) {
      if (worker < 0) continue;
      seconds[static_cast<size_t>(worker)] +=
          request.sent[i].end - request.sent[i].begin - message.latency;
    }
  }
}

Timeline timeline_of(const Request& request, const Plan& plan) {
  const auto& tasks = request.steps->tasks;  // by worker
  Timeline line;
  line.seconds = request.answered;
  line.transfers = request.sent;
  line.compute_seconds.resize(tasks.size());
  line.transfer_seconds.resize(tasks.size());
  for (const Segment& segment : plan.segments) line.tasks.emplace_back(segment.tasks.size());
  for (size_t w = 0; w < tasks.size(); ++w) {
    for (size_t i = 0; i < request.computed[w].size(); ++i) {
      const TaskStep& task = tasks[w][i];
      line.tasks[task.segment][task.task] = request.computed[w][i];
      line.compute_seconds[w] += task.seconds;
    }
  }
  add_transfers(request, line.transfer_seconds, line.wire_bytes);
  return line;
}

std::vector<Steps> steps_of(const Graph& graph, std::span<const ScheduledPlan> turns,
                            const ClusterProfile& cluster) {
  std::vector<Steps> steps;
  for (const ScheduledPlan& turn : turns) {
    steps.push_back(make_steps(graph, turn.plan, turn.schedule, cluster));
  }
  return steps;
}

}  // namespace

Timeline simulate(const Graph& graph, const Plan& plan, const Schedule& schedule,
                  const ClusterProfile& cluster) {
  const Steps steps = make_steps(graph, plan, schedule, cluster);
  return timeline_of(Simulation(cluster, std::span(&steps, 1), 1, 1).run()[0], plan);
}

double answer_seconds(const Steps& steps, const ClusterProfile& cluster) {
  return Simulation(cluster, std::span(&steps, 1), 1, 1).run()[0].answered;
}

double Stream::requests_per_second() const {
  const size_t half = answered.size() / 2;
  if (half == 0) return answered.empty() ? 0 : 1 / answered[0];
  return static_cast<double>(answered.size() - half) / (answered.back() - answered[half - 1]);
}

Stream simulate_stream(const Graph& graph, std::span<const ScheduledPlan> turns,
                       const ClusterProfile& cluster, size_t requests, size_t in_flight,
                       const Stragglers& stragglers) {
  const std::vector<Steps> steps = steps_of(graph, turns, cluster);
  Stream stream;
  stream.compute_seconds.resize(cluster.workers.size());
  stream.transfer_seconds.resize(cluster.workers.size());
  for (const Request& request : Simulation(cluster, steps, requests, in_flight, stragglers).run()) {
    stream.answered.push_back(request.answered);
    stream.latencies.push_back(request.answered - request.released);
    add_transfers(request, stream.transfer_seconds, stream.wire_bytes);
    for (size_t w = 0; w < request.computed.size(); ++w) {
      for (const Span& span : request.computed[w]) {
        stream.compute_seconds[w] += span.end - span.begin;
      }
    }
  }
  std::ranges::sort(stream.answered);
  return stream;
}

std::vector<Timeline> simulate_requests(const Graph& graph, std::span<const ScheduledPlan> turns,
                                        const ClusterProfile& cluster, size_t requests,
                                        size_t in_flight) {
  const std::vector<Steps> steps = steps_of(graph, turns, cluster);
  std::vector<Timeline> lines;
  for (const Request& request : Simulation(cluster, steps, requests, in_flight).run()) {
    lines.push_back(timeline_of(request, turns[lines.size() % turns.size()].plan));
  }
  return lines;
}

}  // namespace shoal::plan
