// Discrete-event simulation of plans. The results in simulate.h are read off its requests.
#pragma once

#include <map>
#include <queue>
#include <vector>

#include "shoal/plan/cost/simulate.h"

namespace shoal::plan {

// The span of a message that was never sent, because nobody waited for it any more.
inline constexpr Span kNever{-1, -1};

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

}  // namespace shoal::plan
