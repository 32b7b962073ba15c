// Results of simulations, read off the simulated requests (simulation.h).
#include "shoal/plan/cost/simulate.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace shoal::plan {
namespace {

// Discrete-event simulation of plans. The results in simulate.h are read off its requests.

// The event loop. Virtual time advances from event to event: a radio is awake, a resource is free,
// a message arrives, a task finishes, a wait for late data is over. Equal times are ordered by the
// moment of insertion, so a run is deterministic. A message starts only when all its resources
// (sender, receiver, media) are free; waiting messages hold none of them, so there is no deadlock,
// and a message that waits for one busy resource does not block others. O(messages * log messages)
// plus the scans of waiting queues.

// The span of a message that was never sent, because no reader waited for it any more.
constexpr Span kNever{-1, -1};

// A request on its way.
struct SimulatedRequest {
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

  explicit SimulatedRequest(const Steps& its)
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
  // All outlive it.
  Simulation(const ClusterProfile& cluster, std::span<const Steps> turns, size_t requests,
             size_t in_flight, const Stragglers& stragglers = {});

  std::vector<SimulatedRequest> run();  // once

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
  struct SimMachine {
    size_t earliest = 0;  // request that it may still have tasks of
    bool busy = false;
    double heard = kUnheard;
    double awake = 0;  // from then on
  };
  // Messages that wait for a resource, in the order of asking.
  struct Queue {
    bool busy = false;
    std::map<size_t, Item> waiting;
  };

  SimMachine& machine(int worker) { return machines_[static_cast<size_t>(worker + 1)]; }
  const Message& message_of(Item item) const {
    return requests_[item.request].steps->messages[item.index];
  }
  void at(double time, Event::Kind kind, Item item) { events_.push({time, order_++, kind, item}); }
  void release(double time);
  void ask(Item item, double time);
  void ask_now(Item item, double time);
  bool start(Item item, double time);
  void free(Item item, double time);
  void start_first(const std::map<size_t, Item>& waiting, double time);
  void arrive(Item item, double time);
  void satisfy(Item group, double time);
  void satisfy_slot(size_t r, Slot slot, double time);
  void start_next(size_t worker, double time);
  void finish(Item item, double time);

  const ClusterProfile& cluster_;
  const size_t in_flight_;
  const double slowness_;             // of a request's slow worker
  std::vector<SimMachine> machines_;  // the coordinator first
  std::vector<Queue> queues_;
  std::vector<SimulatedRequest> requests_;
  std::priority_queue<Event> events_;
  size_t order_ = 0, asked_ = 0, released_ = 0;
};

Simulation::Simulation(const ClusterProfile& cluster, std::span<const Steps> turns, size_t requests,
                       size_t in_flight, const Stragglers& stragglers)
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

std::vector<SimulatedRequest> Simulation::run() {
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

void Simulation::release(double time) {
  const size_t r = released_++;
  requests_[r].released = time;
  for (size_t message : requests_[r].steps->inputs) ask({r, message}, time);
  for (size_t w = 0; w < cluster_.workers.size(); ++w) start_next(w, time);
}

// Wakes the receiver if its radio sleeps; the message asks for its resources when it is awake.
void Simulation::ask(Item item, double time) {
  SimMachine& receiver = machine(message_of(item).to);
  const double awake =
      std::max(receiver.awake, awake_at(cluster_, message_of(item).to, time, receiver.heard));
  if (awake <= time) return ask_now(item, time);
  receiver.awake = awake;
  receiver.heard = std::max(receiver.heard, awake);
  at(awake, Event::Kind::kAwake, item);
}

void Simulation::ask_now(Item item, double time) {
  // A message that cannot start waits in the queues of all its resources, under one ticket.
  if (start(item, time)) return;
  for (Resource resource : message_of(item).uses) queues_[resource].waiting.emplace(asked_, item);
  ++asked_;
}

// Starts the message if all its resources are free.
bool Simulation::start(Item item, double time) {
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

void Simulation::free(Item item, double time) {
  const Resources& uses = message_of(item).uses;
  for (Resource resource : uses) queues_[resource].busy = false;
  for (Resource resource : uses) start_first(queues_[resource].waiting, time);
}

void Simulation::start_first(const std::map<size_t, Item>& waiting, double time) {
  for (const auto& [asked, item] : waiting) {
    // In the order of asking, but passing over messages whose other resources are busy.
    if (!start(item, time)) continue;
    const size_t ticket = asked;  // a copy: the entry is erased below
    for (Resource resource : message_of(item).uses) queues_[resource].waiting.erase(ticket);
    return;
  }
}

void Simulation::arrive(Item item, double time) {
  const Message& message = message_of(item);
  SimulatedRequest& request = requests_[item.request];
  if (message.group == kNoGroup) return satisfy_slot(item.request, message.slot, time);
  SimulatedRequest::GroupState& state = request.groups[message.group];
  if (state.needed > 0) --state.needed;
  // Late members still count: the last data to arrive end the wait early.
  if (!message.is_parity && state.data > 0) --state.data;
  if (state.needed > 0 || state.done) return;
  const bool waits = request.steps->groups[message.group].is_code && state.data > 0;
  const Item group{item.request, message.group};
  if (!waits || request.steps->wait_seconds <= 0) return satisfy(group, time);
  at(time + request.steps->wait_seconds, Event::Kind::kWaited, group);
}

// The group has enough members. Only the first call counts: the wait and late data may both end it.
void Simulation::satisfy(Item group, double time) {
  SimulatedRequest& request = requests_[group.request];
  if (std::exchange(request.groups[group.index].done, true)) return;
  satisfy_slot(group.request, request.steps->groups[group.index].slot, time);
}

void Simulation::satisfy_slot(size_t r, Slot slot, double time) {
  SimulatedRequest& request = requests_[r];
  const size_t machine = slot % machines_.size();
  if (--request.awaited[slot] > 0) return;
  if (slot != request.steps->answer) return start_next(machine - 1, time);
  request.answered = time;
  request.is_answered = true;
  if (released_ < requests_.size()) release(time);
  // Workers that waited for inputs of this request can turn to the next one.
  if (!request.steps->forgets) return;
  for (size_t w = 0; w < cluster_.workers.size(); ++w) start_next(w, time);
}

void Simulation::start_next(size_t worker, double time) {
  SimMachine& machine = machines_[worker + 1];
  if (machine.busy) return;
  while (machine.earliest < released_ && requests_[machine.earliest].is_done(worker)) {
    ++machine.earliest;
  }
  // The earliest request that can go on; a request that waits for data does not hold up the others.
  for (size_t r = machine.earliest; r < released_; ++r) {
    SimulatedRequest& request = requests_[r];
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

void Simulation::finish(Item item, double time) {
  SimulatedRequest& request = requests_[item.request];
  const size_t worker = item.index;
  machines_[worker + 1].busy = false;
  const TaskStep& task = request.steps->tasks[worker][request.next[worker]++];
  // A request that was answered meanwhile needs no more work; the running task could not be
  // stopped.
  if (!request.is_forgotten()) {
    for (size_t message : task.sends) ask({item.request, message}, time);
  }
  start_next(worker, time);
}

// Adds the time that each worker's link is in use. Latency is not use: others may send meanwhile.
void add_transfers(const SimulatedRequest& request, std::vector<double>& seconds, double& bytes) {
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

Timeline timeline_of(const SimulatedRequest& request, const Plan& plan) {
  // Tasks that a worker never began, because the answer was there before, keep an empty span.
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

std::vector<Steps> steps_of(std::span<const ScheduledPlan> turns, const ClusterProfile& cluster) {
  std::vector<Steps> steps;
  for (const ScheduledPlan& turn : turns) {
    steps.push_back(make_steps(turn.graph(), turn.plan(), turn.schedule(), cluster));
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

double Timeline::segment_seconds(size_t segment) const {
  Span all;
  for (const Span& task : tasks[segment]) {
    if (task.end == 0) continue;
    all.begin = all.end == 0 ? task.begin : std::min(all.begin, task.begin);
    all.end = std::max(all.end, task.end);
  }
  return all.end - all.begin;
}

double Timeline::longest_task(size_t segment) const {
  double longest = 0;
  for (const Span& task : tasks[segment]) longest = std::max(longest, task.end - task.begin);
  return longest;
}

double Timeline::longest_task() const {
  double longest = 0;
  for (size_t s = 0; s < tasks.size(); ++s) longest = std::max(longest, longest_task(s));
  return longest;
}

double Stream::requests_per_second() const {
  // The first half fills the pipeline; its answers would count the latency as throughput.
  const size_t half = answered.size() / 2;
  if (half == 0) return answered.empty() ? 0 : 1 / answered[0];
  return static_cast<double>(answered.size() - half) / (answered.back() - answered[half - 1]);
}

Stream simulate_stream(std::span<const ScheduledPlan> turns, const ClusterProfile& cluster,
                       size_t requests, size_t in_flight, const Stragglers& stragglers) {
  const std::vector<Steps> steps = steps_of(turns, cluster);
  Stream stream;
  stream.compute_seconds.resize(cluster.workers.size());
  stream.transfer_seconds.resize(cluster.workers.size());
  for (const SimulatedRequest& request :
       Simulation(cluster, steps, requests, in_flight, stragglers).run()) {
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

std::vector<Timeline> simulate_requests(std::span<const ScheduledPlan> turns,
                                        const ClusterProfile& cluster, size_t requests,
                                        size_t in_flight) {
  const std::vector<Steps> steps = steps_of(turns, cluster);
  std::vector<Timeline> lines;
  for (const SimulatedRequest& request : Simulation(cluster, steps, requests, in_flight).run()) {
    lines.push_back(timeline_of(request, turns[lines.size() % turns.size()].plan()));
  }
  return lines;
}

}  // namespace shoal::plan
