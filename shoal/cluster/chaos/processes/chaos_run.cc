#include "shoal/cluster/chaos/processes/chaos_run.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "shoal/base/threads/notification.h"
#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/chaos/processes/fault_runner.h"

namespace shoal::chaos {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRequestsPerFault = 10;  // where time ends the run

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

FaultPlanOptions plan_options(const ChaosRunOptions& options, size_t workers) {
  return {.counts = options.faults,
          .endless = options.seconds > 0,
          .where = options.where,
          .workers = static_cast<int>(workers),
          .seed = options.seed,
          .down = std::chrono::milliseconds(1),      // starting takes long enough
          .pause = std::chrono::milliseconds(800)};  // longer than it takes to be missed
}

class ChaosRun {
 public:
  ChaosRun(const ChaosRunOptions& options, ChaosCluster& cluster,
           std::function<void(const ChaosProgress&)> watch)
      : options_(options), cluster_(cluster), watch_(std::move(watch)), runner_(cluster) {
    if (options.faults.sum() > 0) plan_.emplace(plan_options(options, cluster.names().size()));
  }

  ChaosReport run() {
    cluster_.ask();  // the first finds caches cold
    begin_ = Clock::now();
    const cluster::Tally before = cluster_.tally();
    const size_t rounds = std::max<size_t>(1, options_.faults.sum());
    for (size_t round = 0; !is_over(round, rounds); ++round) {
      count_ = options_.seconds > 0
                   ? kRequestsPerFault
                   : options_.requests * (round + 1) / rounds - options_.requests * round / rounds;
      ask(report_.calm);
      if (plan_) begin_fault();
      ask(report_.faulty);
      if (plan_) await_return();
    }
    ask(report_.after);
    cluster_.settle();  // the last disputes are judged
    const cluster::Tally after = cluster_.tally();
    report_.at_points = at_points_;
    report_.replayed = after.replayed - before.replayed;
    report_.resent_to_dead = after.resent_to_dead - before.resent_to_dead;
    report_.checked = cluster_.checks().checked;
    report_.disputed = cluster_.checks().disputed;
    note_liars();
    return std::move(report_);
  }

 private:
  bool is_over(size_t round, size_t rounds) const {
    return options_.seconds > 0 ? ms_since(begin_) >= 1e3 * options_.seconds : round == rounds;
  }

  // Half a round. Requests are spread over the time that the latest recovery took, so that they
  // meet all phases of the next one.
  void ask(LatencyRecorder& took) {
    const bool is_calm = &took != &report_.faulty;
    Clock::time_point next = Clock::now();
    for (size_t i = 0; i < count_; ++i) {
      std::this_thread::sleep_until(next);
      note_liars();
      const ChaosCluster::Reply reply = cluster_.ask();
      took.add(reply.ms);
      ++asked_;
      count_in(reply, is_calm);
      watch_({report_, ms_since(begin_) / 1e3, faults_, latest_, victim_, cluster_.names(),
              cluster_.present()});
      next += gap_;
    }
  }

  void count_in(const ChaosCluster::Reply& reply, bool is_calm) {
    if (!is_calm) ++report_.requests;
    if (!reply.status.ok()) return note_failure(reply.status);
    if (!reply.is_right) {
      ++report_.wrong;
      if (!report_.left_out.empty()) ++report_.wrong_after;
    }
    if (is_calm) return;
    ++report_.answered;
    if (const int64_t at = fault_at_.exchange(0); at != 0) {
      const double since = ms_since(Clock::time_point(Clock::duration(at)));
      report_.recovery_ms_max = std::max(report_.recovery_ms_max, since / cluster_.dilation());
    }
  }

  void note_liars() {
    if (!report_.left_out.empty()) return;
    report_.left_out = cluster_.left_out();
    if (!report_.left_out.empty()) report_.asked_until_left_out = asked_;
  }

  void note_failure(const Status& status) {
    ++report_.failed;
    if (report_.first_failure.empty()) report_.first_failure = status.message();
  }

  // At a point or at a moment of the next request.
  void begin_fault() {
    const FaultEvent event = plan_->next();
    const std::chrono::duration<double> request(1e-3 * report_.calm.quantile(0.5));
    ++faults_;
    ++report_.kinds[name_of(event.fault)];
    latest_ = describe(event, cluster_.names());
    victim_ = event.worker;
    runner_.prepare(event);
    const auto task = std::make_shared<std::packaged_task<Status()>>([this, event, request] {
      Clock::time_point begin;
      const auto met = runner_.run(event, request, [&] {
        begin = Clock::now();
        fault_at_ = begin.time_since_epoch().count();
      });
      took_ms_ = ms_since(begin);
      if (event.at && met.ok() && *met) ++at_points_;
      return met.status();
    });
    returned_ = task->get_future();
    thread_.post([task] { (*task)(); });
  }

  // One fault at a time.
  void await_return() {
    if (const Status status = returned_.get(); !status.ok()) return note_failure(status);
    victim_ = -1;
    fault_at_ = 0;  // after the last request of the round: none met it
    report_.returns.add(took_ms_ / cluster_.dilation());
    gap_ = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double, std::milli>(took_ms_) / std::max<size_t>(1, count_));
  }

  const ChaosRunOptions options_;
  ChaosCluster& cluster_;
  const std::function<void(const ChaosProgress&)> watch_;
  std::optional<FaultPlan> plan_;
  FaultRunner runner_;
  ChaosReport report_;
  Clock::time_point begin_;
  size_t count_ = 0;                   // of requests in half a round
  Clock::duration gap_{};              // between the beginnings of two requests
  std::atomic<int64_t> fault_at_ = 0;  // steady time of a fault that no answer came after; 0: none
  double took_ms_ = 0;                 // of the thread's, until returned_ is ready
  uint64_t at_points_ = 0;             // likewise
  uint64_t faults_ = 0;
  uint64_t asked_ = 0;
  std::string latest_;
  int victim_ = -1;
  std::future<Status> returned_;
  TaskThread thread_;  // first to go: it uses the rest
};

// Faults, one every second, while it is on.
class FaultLoop {
 public:
  FaultLoop(const FaultPlanOptions& options, ChaosCluster& cluster)
      : plan_(options), runner_(cluster) {}

  void turn_on() {
    off_ = std::make_shared<Notification>();
    thread_.post([this, off = off_] { loop(*off); });
  }
  // Returns when the latest fault is over.
  void turn_off() {
    off_->notify();
    std::promise<void> idle;
    thread_.post([&] { idle.set_value(); });
    idle.get_future().wait();
  }
  const std::map<std::string, uint64_t>& kinds() const { return kinds_; }

 private:
  void loop(Notification& off) {
    constexpr std::chrono::seconds kInterval{1};
    for (auto begin = Clock::now(); !off.wait_until(begin); begin += kInterval) {
      const FaultEvent event = plan_.next();
      runner_.prepare(event);
      const Result<bool> done = runner_.run(event, {}, [] {});
      if (done.ok()) ++kinds_[name_of(event.fault)];
    }
  }

  FaultPlan plan_;
  FaultRunner runner_;
  std::shared_ptr<Notification> off_;
  std::map<std::string, uint64_t> kinds_;  // the thread's, while it is on
  TaskThread thread_;                      // first to go: it uses the rest
};

}  // namespace

Verdict ChaosReport::verdict(bool finds_liars) const {
  if ((finds_liars ? wrong_after : wrong) > 0) return Verdict::wrong("answers are wrong");
  if (finds_liars && left_out.empty()) return Verdict::wrong("the worker that lies was not found");
  return failed > 0 ? Verdict::failed(first_failure) : Verdict();
}

ChaosReport run_chaos(const ChaosRunOptions& options, ChaosCluster& cluster,
                      const std::function<void(const ChaosProgress&)>& watch) {
  return ChaosRun(options, cluster, watch).run();
}

OverloadReport overload_cluster(const OverloadOptions& overload, const ChaosRunOptions& options,
                                ChaosCluster& cluster, std::map<std::string, uint64_t>& kinds) {
  const auto ask = [&](uint64_t client, std::chrono::milliseconds timeout) {
    const ChaosCluster::Reply reply = cluster.ask_as(client, timeout);
    return OverloadReply{reply.status, reply.is_right};
  };
  if (options.faults.sum() == 0) return run_overload(overload, ask);
  FaultPlanOptions faults = plan_options(options, cluster.names().size());
  faults.endless = true;
  FaultLoop loop(faults, cluster);
  OverloadReport report =
      run_overload(overload, ask, [&](bool is_on) { is_on ? loop.turn_on() : loop.turn_off(); });
  kinds = loop.kinds();
  return report;
}

}  // namespace shoal::chaos
