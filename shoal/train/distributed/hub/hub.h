// Hub: decides what the workers of a training run do. Events come in (a worker joined, pushed, was
// lost; time passed), and actions come out. It has no threads, clock or sockets: a coordinator
// carries the actions out in real time, a simulation in virtual time.
//
// A step has 2^levels micro-batches, which idle workers share in proportion to measured speed. When
// all that the hub waits for have come, it merges them and sends the result to every worker: the
// barrier. Messages to a worker arrive in order, so the next assignment may follow at once. The
// first step waits for all that joined before it began, or the first of them to have the state
// would compute it alone.
//
// The micro-batches of a lost worker go to the others as each finishes, so no step is lost, and
// with an exact codec the bits are those of an undisturbed run. With `slack`, a step that takes
// that many times longer than it should ends without its stragglers. A straggler stops when the
// merged step reaches it, carries its gradients in its error buffer, and takes part in the next
// step. One that missed two steps in a row gets no work until it answers, because a worker has to
// keep what it pushed until it cannot be late; its micro-batches are left out of these steps,
// because the others would need longer for them than a step should take. A worker whose weights
// differ from the hub's is sent the state again.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace shoal::learn {

struct DeviceRow {
  enum class State : uint8_t { kJoining, kWorking, kLost };
  State state = State::kJoining;
  // The step in which it was lost, or since which it works again; nullopt: never lost.
  std::optional<int64_t> changed = {};
  int64_t share = 0;       // micro-batches of the last completed step
  double seconds = 0;      // per micro-batch, median of the last ones; 0: unknown
  double lag_seconds = 0;  // of its last gradients, behind the first of that step
  int64_t steps = 0;       // completed, that it had work in
  int64_t late = 0;        // of these, ended without it

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

// By worker, lost ones included.
using DeviceTable = std::map<int, DeviceRow>;

struct HubOptions {
  using Duration = std::chrono::nanoseconds;

  int levels = 3;     // a step has 2^levels micro-batches
  int64_t steps = 1;  // to do
  // A step ends without its stragglers once it took this many times the expected time and more than
  // half of it has come. 0: never, every step is complete.
  double slack = 0;
  // Shares follow `planned`, not measured speeds. With a lossy codec the result depends on which
  // worker computes what, and would not be reproducible otherwise.
  bool fixed_shares = false;
  // Nanoseconds per micro-batch, by worker; empty: equal.
  std::map<int, int64_t> planned = {};
  Duration least_wait = std::chrono::milliseconds(20);  // of a step, before it may end incomplete
  Duration drop_after = std::chrono::seconds(60);       // for a worker that does not answer
  Duration timeout = std::chrono::seconds(60);          // without any worker
};

struct HubAction {
  enum class Kind : uint8_t {
    kSendState,  // weights, optimizer and step to the worker
    kAssign,     // the worker computes the micro-batches [first, end) of the step
    kMerge,      // merge what was accepted; send the result to all workers
    kDrop,       // close the connection: it did not answer in time
    kGoodbye,    // the run is over
    kGiveUp      // no workers for too long
  };
  Kind kind = Kind::kMerge;
  int worker = -1;
  int64_t step = 0;
  int64_t first = 0, end = 0;

  friend bool operator==(const HubAction&, const HubAction&) = default;
};

// What happens to a push.
enum class Verdict : uint8_t {
  kAccept,  // it belongs to the step
  kLate,    // the step went on without it: the worker carries it along
  kRefuse   // the worker was not asked for it
};

// Not thread-safe. REQUIRES: time does not go back.
class Hub {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Hub(const HubOptions& options) : options_(options) {}
  // Resumes at this step and plan of a checkpoint. REQUIRES: no event has happened yet.
  void resume(int64_t step, std::map<int, int64_t> planned) {
    step_ = step;
    options_.planned = std::move(planned);
  }
  const std::map<int, int64_t>& planned() const { return options_.planned; }

  // Registers a worker and sends it the state; it gets work once it has it.
  void join(int worker, Time now);
  void synced(int worker, Time now);
  // The verdict on a contribution. An accepted one is merged before push() is called; if it cannot
  // be decoded, call lose() instead.
  Verdict verdict(int worker, int64_t step, int64_t first, int64_t end) const;
  // `seconds` is the computing time the worker reports; 0: all the time since it was asked counts.
  Verdict push(int worker, int64_t step, int64_t first, int64_t end, Time now, double seconds = 0);
  // A worker applied a merged step. States whether its weights equal the hub's, and how many
  // micro-batches of an abandoned task it had done.
  struct Applied {
    int64_t step = 0;
    bool equal = true;
    int64_t done = 0;
  };
  void applied(int worker, const Applied& report, Time now);
  // The worker is gone, or leaves.
  void lose(int worker, Time now);
  void tick(Time now);
  // Ends the run n steps after this one.
  void stop(int64_t more = 0) { options_.steps = std::min(options_.steps, step_ + 1 + more); }

  // When to call tick() if nothing else happens; nullopt if the run is over.
  std::optional<Time> next_tick() const;
  // The actions to carry out, in order.
  std::vector<HubAction> take_actions();

  int64_t step() const { return step_; }  // current, from 0
  int64_t steps() const { return options_.steps; }
  bool is_over() const { return over_; }
  std::vector<int> workers() const;
  // Seconds per micro-batch, the median of the last ones; 0 before the first.
  double seconds_of(int worker) const;
  // Shares are those of the last step that ended.
  const DeviceTable& devices() const { return devices_; }

 private:
  struct Range {
    int64_t first = 0, end = 0;
    int64_t size() const { return end - first; }
  };
  struct Work {
    int64_t step = 0;
    Range range;
    Time since = {};
    std::optional<Time> first_push = {};  // of the step, if it ended without this worker
  };
  struct Worker {
    std::optional<Time> joining = {};     // since when; nullopt once it has the state
    std::optional<Work> work = {};        // of this step
    std::map<int64_t, Work> left = {};    // unanswered, of steps that ended without it
    std::optional<Time> unanswered = {};  // since its first assignment without an answer
    int skipped = 0;                      // steps in a row without a share
    std::deque<double> seconds = {};      // per micro-batch, of the last ones
    std::deque<double> waits = {};        // besides, from the assignment to the push
  };

  static void remember_speed(Worker& worker, double seconds, double done);
  static void note_answer(Worker& worker);
  void note_push(int worker, const Work& work, Verdict verdict, Time now);
  void send_state(int worker, Time now);
  void release(int worker);  // discards its work
  void assign(Range range, Time now);
  void assign_missing(Time now);
  std::vector<int> sharers_of(const std::vector<int>& idle, int64_t total) const;
  std::vector<int64_t> shares_for(const std::vector<int>& workers, int64_t total) const;
  void try_slow_ones(const std::vector<int>& idle, std::vector<int64_t>& shares);
  void advance(Time now);  // as far as possible
  void end_step(Time now);
  void end_run();
  bool is_awaited() const;  // a worker computes for this step
  bool is_gathering() const;
  std::vector<int> idle_workers() const;
  std::vector<double> speeds_of(const std::vector<int>& workers) const;
  std::vector<double> planned_for(const std::vector<int>& workers) const;
  std::optional<Time> straggler_deadline() const;
  static std::optional<Time> waiting_since(const Worker& worker);  // for its answer

  HubOptions options_;
  int64_t step_ = 0;
  bool running_ = false;  // the step is assigned
  bool begun_ = false;    // or an earlier one was
  bool over_ = false;
  int64_t accepted_ = 0;                       // micro-batches of the step
  int64_t left_out_ = 0;                       // of the step: those of workers that are behind
  std::vector<Range> missing_;                 // of lost workers
  std::map<int, int64_t> accepted_from_ = {};  // the same by worker
  std::optional<Time> first_push_ = {};        // of the step
  Time began_ = {};                            // of the step
  Time expected_ = {};                         // end of the step; began_ if unknown
  std::optional<Time> alone_since_ = {};
  std::map<int, Worker> workers_;
  DeviceTable devices_;
  std::vector<HubAction> actions_;
};

}  // namespace shoal::learn
