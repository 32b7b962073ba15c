// Hub: decides what the workers of a training run do. Events come in (a worker has joined, pushed,
// was lost; time has passed), and actions come out (send the state, compute these micro-batches,
// merge, good-bye). It has no threads, clock or sockets: a coordinator carries the actions out in
// real time, a simulation in virtual time.
//
// A step has 2^levels micro-batches, which the idle workers share in proportion to their measured
// speed. When all have come, or all that the hub waits for, it merges them and sends the result to
// every worker: that is the barrier. Messages to a worker arrive in order, so the next assignment
// may follow at once. The first step waits for all that joined before it began, or the first of
// them to have the state would compute it alone.
//
// A lost worker: its micro-batches are given to the others, to each when it is done. So no step is
// lost, and with an exact codec the bits are those of an undisturbed run.
// A straggler: where `slack` is set, the step ends without it once it takes that much longer than
// the step should. It stops when the merged step reaches it, carries what it has computed along in
// its own error buffer, and has a part in the next step. One that two steps in a row ended without
// has none until it answers: a worker has to keep what it pushed until it cannot be late. Its
// micro-batches are left out of these steps. Others would need longer for them than a step should
// take.
// A worker whose weights differ from the hub's is sent the state again.
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
  // The step in which it was lost, or from which on it works again; nothing: it was never lost.
  std::optional<int64_t> changed = {};
  int64_t share = 0;       // micro-batches of the last step that ended
  double seconds = 0;      // per micro-batch, the median of the last ones; 0: not known
  double lag_seconds = 0;  // of its last gradients, behind the first ones of that step
  int64_t steps = 0;       // ended, in which it was asked for something
  int64_t late = 0;        // of these: ended without it

  friend bool operator==(const DeviceRow&, const DeviceRow&) = default;
};

// By worker, with those that were lost.
using DeviceTable = std::map<int, DeviceRow>;

struct HubOptions {
  using Duration = std::chrono::nanoseconds;

  int levels = 3;     // a step has 2^levels micro-batches
  int64_t steps = 1;  // to be done
  // A step ends without a worker when it has taken this many times what it should, and more than
  // half of it has come. 0: never, so that every step is complete.
  double slack = 0;
  // Shares follow `planned` and not the speeds that are measured: where a codec loses something,
  // what is learned depends on who computes what, and would not be the same twice.
  bool fixed_shares = false;
  // Nanoseconds per micro-batch, by worker; empty: all are equal.
  std::map<int, int64_t> planned = {};
  Duration least_wait = std::chrono::milliseconds(20);  // of a step, before it ends so
  Duration drop_after = std::chrono::seconds(60);       // for a worker that does not answer
  Duration timeout = std::chrono::seconds(60);          // without any worker
};

struct HubAction {
  enum class Kind : uint8_t {
    kSendState,  // weights, optimiser and step to the worker
    kAssign,     // the worker computes the micro-batches [first, end) of the step
    kMerge,      // of what was accepted; then the result to all workers
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

// What becomes of a push.
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
  // Goes on with this step and this plan, as a checkpoint says. REQUIRES: nothing has happened yet.
  void resume(int64_t step, std::map<int, int64_t> planned) {
    step_ = step;
    options_.planned = std::move(planned);
  }
  const std::map<int, int64_t>& planned() const { return options_.planned; }

  // Register: it is sent the state, and has work from when it says that it has it.
  void join(int worker, Time now);
  void synced(int worker, Time now);
  // What would become of a contribution. One to be accepted is merged before push() says that it
  // has come; if it cannot be decoded, the worker is lost instead.
  Verdict verdict(int worker, int64_t step, int64_t first, int64_t end) const;
  // `seconds`: that the worker computed, as it says; 0: all the time since it was asked counts.
  Verdict push(int worker, int64_t step, int64_t first, int64_t end, Time now, double seconds = 0);
  // A worker has applied a merged step, and its weights are, or are not, the hub's. If it had to
  // leave a task of that step, this many of its micro-batches were done.
  struct Applied {
    int64_t step = 0;
    bool equal = true;
    int64_t done = 0;
  };
  void applied(int worker, const Applied& report, Time now);
  // The worker is gone, or wants to leave.
  void lose(int worker, Time now);
  void tick(Time now);
  // Ends the run n steps after this one.
  void stop(int64_t more = 0) { options_.steps = std::min(options_.steps, step_ + 1 + more); }

  // When tick() should be called if nothing else happens; nothing if the run is over.
  std::optional<Time> next_tick() const;
  // What is to be done now, in this order.
  std::vector<HubAction> take_actions();

  int64_t step() const { return step_; }  // the one that is computed, from 0
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
    std::optional<Time> first_push = {};  // of the step, where that ended without this
  };
  struct Worker {
    std::optional<Time> joining = {};     // since when; nothing if it has the state
    std::optional<Work> work = {};        // of this step
    std::map<int64_t, Work> left = {};    // by step: of those that ended without it, unanswered
    std::optional<Time> unanswered = {};  // since its first assignment without an answer
    int skipped = 0;                      // steps in a row without a share
    std::deque<double> seconds = {};      // per micro-batch, of the last ones
    std::deque<double> waits = {};        // besides, from the assignment to the push
  };

  static void remember_speed(Worker& worker, double seconds, double done);
  static void note_answer(Worker& worker);
  void note_push(int worker, const Work& work, Verdict verdict, Time now);
  void send_state(int worker, Time now);
  void release(int worker);  // of its work
  void assign(Range range, Time now);
  void assign_missing(Time now);
  std::vector<int> sharers_of(const std::vector<int>& idle, int64_t total) const;
  std::vector<int64_t> shares_for(const std::vector<int>& workers, int64_t total) const;
  void try_slow_ones(const std::vector<int>& idle, std::vector<int64_t>& shares);
  void advance(Time now);  // whatever is possible
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
  bool running_ = false;  // micro-batches of the step were assigned
  bool begun_ = false;    // or those of one before
  bool over_ = false;
  int64_t accepted_ = 0;                       // micro-batches of the step
  int64_t left_out_ = 0;                       // of it: of workers that are behind
  std::vector<Range> missing_;                 // of workers that were lost
  std::map<int, int64_t> accepted_from_ = {};  // the same by worker
  std::optional<Time> first_push_ = {};        // of the step
  Time began_ = {};                            // the step
  Time expected_ = {};                         // when it should be done; that of began_ if unknown
  std::optional<Time> alone_since_ = {};
  std::map<int, Worker> workers_;
  DeviceTable devices_;
  std::vector<HubAction> actions_;
};

}  // namespace shoal::learn
