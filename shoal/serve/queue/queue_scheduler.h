// Scheduler: the queues of several models that share the slots of one device. Models take turns, so
// that a busy one does not starve others. Like its queues, it only decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

struct SchedulerDecision {
  std::vector<uint64_t> late;   // requests of any model
  std::vector<uint64_t> batch;  // requests of one model to run now, on a slot; empty: none
  uint64_t model = 0;
  int64_t items = 0;
};

// Not thread-safe.
class Scheduler {
 public:
  explicit Scheduler(size_t slots) : free_slots_(slots) {}

  // REQUIRES: a number that no model has.
  void add(uint64_t model, const QueueOptions& options);
  // Refuses further requests of the model; those that wait are run.
  void drain(uint64_t model);
  // REQUIRES: nothing of the model waits or runs.
  void remove(uint64_t model);
  bool is_idle(uint64_t model) const;  // nothing of it waits or runs

  // kNotFound if there is no such model. check() returns what admit() would, and changes nothing.
  Admission check(uint64_t model, const QueuedRequest& request, Time now) const;
  Admission admit(uint64_t model, const QueuedRequest& request, Time now);
  // Removes a waiting request. Returns whether it was here.
  bool cancel(uint64_t model, uint64_t request);
  // To be called after each event until the batch is empty. A batch takes a slot.
  SchedulerDecision next(Time now);
  // The batch has run and frees its slot. `took` is learned unless it failed.
  void ended(uint64_t model, int64_t items, std::optional<Duration> took);
  // A batch of the model is known to take this long. REQUIRES: items > 0
  void learn(uint64_t model, int64_t items, Duration took);
  // When next() has a decision without another event; kNever if it has none.
  Time wake() const;

  size_t waiting(uint64_t model) const;
  // The expected time of a request of one item that could run at once now. nullopt if it could not,
  // or if that is unknown.
  std::optional<Duration> expected(uint64_t model) const;

 private:
  struct Entry {
    ModelQueue queue;
    size_t running = 0;  // batches
  };

  size_t free_slots_;
  std::map<uint64_t, Entry> models_;
  uint64_t latest_ = 0;  // the model that had the latest turn
};

}  // namespace shoal::serve
