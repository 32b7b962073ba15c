#include "trial.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "arena.h"
#include "hand.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kRequestsPerFault = 10;  // where time ends it

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

enum class Fault : uint8_t { kKill, kStop, kSlow };

const char* done_by(Fault fault) {
  switch (fault) {
    case Fault::kKill:
      return "killed";
    case Fault::kStop:
      return "stopped";
    case Fault::kSlow:
      return "slowed down";
  }
  return "";
}

class Trial {
 public:
  Trial(const TrialFlags& flags, Arena& arena, std::function<void(const TrialState&)> watch)
      : flags_(flags), arena_(arena), watch_(std::move(watch)), random_(flags.seed) {
    todo_ = {{Fault::kKill, flags.kills}, {Fault::kStop, flags.stops}, {Fault::kSlow, flags.slows}};
  }

  // Calm requests between faults, as many as meet them: what else this machine does is the same for
  // both.
  TrialFigures run() {
    arena_.ask();  // the first finds caches cold
    begin_ = Clock::now();
    const cluster::Tally before = arena_.coordinator().tally();
    const size_t faults = flags_.kills + flags_.stops + flags_.slows;
    const size_t rounds = std::max<size_t>(1, faults);
    for (size_t round = 0; !is_over(round, rounds); ++round) {
      count_ = flags_.seconds > 0
                   ? kRequestsPerFault
                   : flags_.requests * (round + 1) / rounds - flags_.requests * round / rounds;
      ask(figures_.calm);
      if (faults > 0) begin_fault();
      ask(figures_.faulty);
      if (faults > 0) await_return();
    }
    ask(figures_.after);
    const cluster::Tally after = arena_.coordinator().tally();
    figures_.replayed = after.replayed - before.replayed;
    figures_.resent_to_dead = after.resent_to_dead - before.resent_to_dead;
    return std::move(figures_);
  }

 private:
  bool is_over(size_t round, size_t rounds) const {
    return flags_.seconds > 0 ? ms_since(begin_) >= 1e3 * flags_.seconds : round == rounds;
  }

  // Spread over the time in which the last one who failed came back, so that requests meet all of
  // that.
  void ask(Latencies& took) {
    const bool is_calm = &took != &figures_.faulty;
    Clock::time_point next = Clock::now();
    for (size_t i = 0; i < count_; ++i) {
      std::this_thread::sleep_until(next);
      const Arena::Reply reply = arena_.ask();
      took.add(reply.ms);
      count_in(reply, is_calm);
      watch_({figures_, ms_since(begin_) / 1e3, faults_, latest_, arena_.states()});
      next += gap_;
    }
  }

  void count_in(const Arena::Reply& reply, bool is_calm) {
    if (!is_calm) ++figures_.requests;
    if (!reply.status.ok()) return note_failure(reply.status);
    if (!reply.right) ++figures_.wrong;
    if (is_calm) return;
    ++figures_.answered;
    if (const int64_t at = fault_at_.exchange(0); at != 0) {
      const double since = ms_since(Clock::time_point(Clock::duration(at)));
      figures_.recovery_ms_max = std::max(figures_.recovery_ms_max, since);
    }
  }

  void note_failure(const Status& status) {
    ++figures_.failed;
    if (figures_.first_failure.empty()) figures_.first_failure = status.message();
  }

  // Of those that are left to do, or, where time ends it, of those that are wanted.
  Fault draw() {
    size_t left = 0;
    for (const auto& [fault, count] : todo_) left += count;
    size_t drawn = random_() % left;
    auto it = todo_.begin();
    while (drawn >= it->second) drawn -= (it++)->second;
    if (flags_.seconds == 0) --it->second;
    return it->first;
  }

  // At any moment of the next request.
  void begin_fault() {
    const std::chrono::duration<double, std::milli> when(
        figures_.calm.at(0.5) * std::uniform_real_distribution<double>(0, 1)(random_));
    const size_t worker = random_() % flags_.workers;
    const Fault fault = draw();
    ++faults_;
    latest_ = "worker-" + std::to_string(worker) + " " + done_by(fault);
    returned_ = hand_.ask([this, when, worker, fault] {
      std::this_thread::sleep_for(when);
      return happen(fault, worker);
    });
  }

  // Until it is there again and has all that it had.
  Status happen(Fault fault, size_t worker) {
    const auto begin = Clock::now();
    WorkerFarm& farm = arena_.farm();
    fault_at_ = begin.time_since_epoch().count();
    switch (fault) {
      case Fault::kKill:
        farm.signal(worker, SIGKILL);
        SHOAL_TRY(farm.restart(worker));
        break;
      case Fault::kStop:
        farm.signal(worker, SIGSTOP);
        std::this_thread::sleep_for(milliseconds(800));  // longer than it takes to be noticed
        farm.signal(worker, SIGCONT);
        break;
      case Fault::kSlow:
        slow_down(worker);
        break;
    }
    arena_.until_whole();
    took_ms_ = ms_since(begin);
    return {};
  }

  void slow_down(size_t worker) {
    for (int i = 0; i < 10; ++i) {
      arena_.farm().signal(worker, SIGSTOP);
      std::this_thread::sleep_for(milliseconds(90));
      arena_.farm().signal(worker, SIGCONT);
      std::this_thread::sleep_for(milliseconds(10));
    }
  }

  // One fault at a time.
  void await_return() {
    if (const Status status = returned_.get(); !status.ok()) return note_failure(status);
    figures_.returns.add(took_ms_);
    gap_ = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(took_ms_) / std::max<size_t>(1, count_));
  }

  const TrialFlags flags_;
  Arena& arena_;
  const std::function<void(const TrialState&)> watch_;
  std::mt19937_64 random_;
  std::vector<std::pair<Fault, size_t>> todo_;
  TrialFigures figures_;
  Clock::time_point begin_;
  size_t count_ = 0;                   // of requests in half a round
  Clock::duration gap_{};              // between the beginnings of requests
  std::atomic<int64_t> fault_at_ = 0;  // of steady time; none before the next answer: zero
  double took_ms_ = 0;                 // the hand's, until it is done
  uint64_t faults_ = 0;                // that have begun
  std::string latest_;
  std::future<Status> returned_;
  Hand hand_;  // first to go: it uses the rest
};

}  // namespace

Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(const TrialState&)>& watch) {
  SHOAL_ASSIGN(
      const auto arena,
      Arena::open(graph, {.workers = flags.workers, .survive = flags.survive, .seed = flags.seed}));
  return Trial(flags, *arena, watch).run();
}

}  // namespace shoal::cli
