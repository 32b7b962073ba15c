// ModelQueue: decides which requests of one model run next, and together. Events and time come in,
// decisions come out; it has no threads, clock or sockets.
//
// Order: by priority, then clients in turn (base/threads/fair_queue.h), then age. A batch is the
// next requests in this order, up to the first that has another kind, does not fit, or would make
// one of them late. So no request waits for requests behind it.
//
// A batch begins when the model may run and the batch is full, or one of its requests has waited
// for max_delay, or has to begin now to be in time. With max_delay 0, batches form while others
// run.
//
// Admission: a request is refused at once, with the time after which to try again, if too many
// wait, or if by the times of recent batches it would be late or wait for longer than max_wait. If
// the queue is full, a request of a lower priority gives way, or one of a client that has two more
// waiting.
//
// Estimates can be wrong and are corrected only by runs. A request is therefore refused or given up
// by an estimate only while others wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/base/threads/fair_queue.h"

namespace shoal::serve {

// Not thread-safe.
class RunTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // A batch of `items` items took this long. REQUIRES: items > 0
  void learn(int64_t items, Duration took);

  // The expected time of a batch of `items` items: that of the next larger known size, or in
  // proportion to the largest known. Zero before the first learn(). REQUIRES: items > 0
  Duration of(int64_t items) const;

 private:
  std::map<int64_t, Duration> usual_;  // by items: moving averages
};

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;
inline constexpr Time kNever = Time::max();

struct QueueOptions {
  size_t max_waiting = 256;
  int64_t max_items = 1;  // of a batch of several requests
  Duration max_delay{0};
  Duration max_wait = Duration::max();  // that a request may expect; a few may always wait
  size_t slots = 1;                     // batches that run at a time, for estimates
};

inline constexpr uint32_t kFirstPriority = 1, kUsualPriority = 2, kLastPriority = 3;

// A request as the queue sees it.
struct QueuedRequest {
  uint64_t id = 0;  // higher than those before
  uint64_t client = 0;
  uint64_t kind = 0;  // requests of one kind may share a batch; 0: it shares none
  int64_t items = 1;
  uint32_t priority = kUsualPriority;  // lower numbers go first
  Time arrived{};
  Time deadline = kNever;
};

struct Admission {
  Status status;                      // OK: the request waits
  Duration retry_after{0};            // where it may be admitted later
  std::optional<uint64_t> gives_way;  // a request that waited and does no longer
};

struct Decision {
  std::vector<uint64_t> late;   // requests that wait no longer: they cannot be answered in time
  std::vector<uint64_t> batch;  // requests to run now, together; empty: none
  int64_t items = 0;            // of the batch
};

// Not thread-safe.
class ModelQueue {
 public:
  explicit ModelQueue(const QueueOptions& options) : options_(options) {}

  // The result that admit() would have. Changes nothing.
  Admission check(const QueuedRequest& request, Time now) const;
  Admission admit(const QueuedRequest& request, Time now);
  // Removes a waiting request. Returns whether it was here.
  bool cancel(uint64_t id);
  // From now on, requests are refused with kUnavailable. Waiting ones are run.
  void drain() { draining_ = true; }

  // The late requests, and the batch to run. `may_run`: there is a slot.
  Decision next(Time now, bool may_run);
  // A batch has run. REQUIRES: items > 0
  void learn(int64_t items, Duration took) { times_.learn(items, took); }

  // When next() has a decision without another event; kNever if it has none.
  Time wake(bool may_run) const;

  size_t waiting() const { return requests_.size(); }
  // The expected time of a batch; 0: unknown. REQUIRES: items > 0
  Duration expected(int64_t items) const { return times_.of(items); }

 private:
  Duration until_begin(size_t ahead) const;
  size_t ahead_of(const QueuedRequest& request) const;
  std::optional<uint64_t> to_give_way_to(const QueuedRequest& request) const;
  const QueuedRequest* first() const;  // the next in turn; null if none waits
  Time latest_begin() const;           // of the batch that would begin now
  bool is_hopeless(const QueuedRequest& request, Time now) const;

  const QueueOptions options_;
  bool draining_ = false;
  RunTimes times_;
  std::map<uint32_t, FairQueue> levels_;  // by priority
  std::map<uint64_t, QueuedRequest> requests_;
  std::set<std::pair<Time, uint64_t>> deadlines_;  // of requests that have one
  int64_t waiting_items_ = 0;
};

}  // namespace shoal::serve
