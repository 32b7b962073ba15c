// The event loop. Virtual time advances from event to event: a radio is awake, a resource is free,
// a message arrives, a task finishes, a wait for late data is over. Equal times are ordered by the
// moment of insertion, so a run is deterministic. A message starts only when all its resources
// (sender, receiver, media) are free; waiting messages hold none of them, so there is no deadlock,
// and a message that waits for one busy resource does not block others. O(messages * log messages)
// plus the scans of waiting queues.
#include "shoal/plan/cost/simulation.h"

#include <algorithm>
#include <random>
#include <utility>

namespace shoal::plan {

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
  // A request that was answered meanwhile needs nothing more; the task itself could not be stopped.
  if (!request.is_forgotten()) {
    for (size_t message : task.sends) ask({item.request, message}, time);
  }
  start_next(worker, time);
}

}  // namespace shoal::plan
