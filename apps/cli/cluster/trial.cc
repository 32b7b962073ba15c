#include "trial.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>

#include "arena.h"
#include "hand.h"
#include "mischief.h"

namespace shoal::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRequestsPerFault = 10;  // where time ends it

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Trial {
 public:
  Trial(const TrialFlags& flags, Arena& arena, std::function<void(const TrialState&)> watch)
      : flags_(flags),
        arena_(arena),
        watch_(std::move(watch)),
        mishaps_(flags.mishaps, flags.seconds > 0, flags.at, arena.names().size(), flags.seed),
        mischief_(arena) {}

  // Calm requests between faults, as many as meet them: what else this machine does is the same for
  // both.
  TrialFigures run() {
    arena_.ask();  // the first finds caches cold
    begin_ = Clock::now();
    const cluster::Tally before = arena_.coordinator().tally();
    const size_t faults = flags_.mishaps.sum();
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
    figures_.at_points = at_points_;
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
      watch_({figures_, ms_since(begin_) / 1e3, faults_, latest_, victim_, arena_.names(),
              arena_.states()});
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
      figures_.recovery_ms_max = std::max(figures_.recovery_ms_max, since / arena_.stretch());
    }
  }

  void note_failure(const Status& status) {
    ++figures_.failed;
    if (figures_.first_failure.empty()) figures_.first_failure = status.message();
  }

  // At a point or at any moment of the next request.
  void begin_fault() {
    const Mishap mishap = mishaps_.draw();
    const std::chrono::duration<double> request(1e-3 * figures_.calm.at(0.5) * arena_.stretch());
    ++faults_;
    ++figures_.kinds[kind_of(mishap)];
    latest_ = describe(mishap, arena_.names());
    victim_ = mishap.worker;
    mischief_.prepare(mishap);
    returned_ = hand_.ask([this, mishap, request] {
      Clock::time_point begin;
      const auto is_there = mischief_.happen(mishap, request, [&] {
        begin = Clock::now();
        fault_at_ = begin.time_since_epoch().count();
      });
      took_ms_ = ms_since(begin);
      if (mishap.at && is_there.ok() && *is_there) ++at_points_;
      return is_there.status();
    });
  }

  // One fault at a time.
  void await_return() {
    if (const Status status = returned_.get(); !status.ok()) return note_failure(status);
    victim_ = -1;
    fault_at_ = 0;  // after the last request of the round: none met it
    figures_.returns.add(took_ms_ / arena_.stretch());
    gap_ = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(took_ms_) / std::max<size_t>(1, count_));
  }

  const TrialFlags flags_;
  Arena& arena_;
  const std::function<void(const TrialState&)> watch_;
  Mishaps mishaps_;
  Mischief mischief_;
  TrialFigures figures_;
  Clock::time_point begin_;
  size_t count_ = 0;                   // of requests in half a round
  Clock::duration gap_{};              // between the beginnings of requests
  std::atomic<int64_t> fault_at_ = 0;  // of steady time; none before the next answer: zero
  double took_ms_ = 0;                 // the hand's, until it is done
  uint64_t at_points_ = 0;             // also the hand's: faults where a worker got to their point
  uint64_t faults_ = 0;                // that have begun
  std::string latest_;
  int victim_ = -1;  // to whom it does still
  std::future<Status> returned_;
  Hand hand_;  // first to go: it uses the rest
};

}  // namespace

Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(const TrialState&)>& watch) {
  SHOAL_ASSIGN(const auto arena, Arena::open(graph, {.workers = flags.workers,
                                                     .survive = flags.survive,
                                                     .seed = flags.seed,
                                                     .cluster = flags.cluster,
                                                     .dilation = flags.dilation}));
  if (!flags.cluster.empty()) {
    std::fprintf(stderr, "%zu emulated devices, %g times as slow as the real ones\n",
                 arena->names().size(), arena->stretch());
  }
  return Trial(flags, *arena, watch).run();
}

}  // namespace shoal::cli
