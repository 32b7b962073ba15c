#include "shoal/cluster/chaos/processes/chaos_run.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "shoal/base/threads/notification.h"
#include "shoal/base/threads/task_thread.h"
#include "shoal/cluster/chaos/fault_plan.h"
#include "shoal/cluster/chaos/processes/chaos_cluster.h"
#include "shoal/plan/plan.h"

namespace shoal::chaos {
namespace {

// Does faults to a cluster of processes.
class FaultRunner {
 public:
  // The cluster outlives it.
  explicit FaultRunner(ChaosCluster& cluster) : cluster_(cluster) {}

  void prepare(const FaultEvent& event);
  Result<bool> run(const FaultEvent& event, std::chrono::duration<double> request,
                   const std::function<void()>& began);

 private:
  bool wait_for_point();
  Status apply(const FaultAction& action);
  void wait(std::chrono::milliseconds time);
  void wait_until_damaged(const FaultAction& damage, int worker);
  void sleep(std::chrono::milliseconds time) const;

  ChaosCluster& cluster_;
  std::optional<size_t> slowed_;  // a worker
};

using cluster::FaultPoint;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Sets the breakpoint for a fault at a point. To be called before the request that it is to meet
// is sent, so that no worker gets past the point unnoticed.
void FaultRunner::prepare(const FaultEvent& event) {
  if (!event.at) return;
  // A request is submitted by the coordinator; all else is done by the worker.
  const int machine = event.at == FaultPoint::kSubmitted ? plan::kCoordinator : event.worker;
  cluster_.breakpoint().arm(machine, static_cast<int>(*event.at));
  // To meet a worker while it is given plans, its connection is broken first: it then comes back
  // and is given its plans again.
  if (event.at == FaultPoint::kDeploying || event.at == FaultPoint::kReady) {
    cluster_.network().break_off(event.worker, plan::kCoordinator);
  }
}

// Waits for the point, or for the event's share of `request`, calls `began`, injects the fault, and
// returns when the workers have recovered. False: no worker reached the point, and the fault was
// injected all the same. Times are emulated. REQUIRES: always called on the same thread, which
// outlives the cluster: it restarts workers (base/processes/process.h).
Result<bool> FaultRunner::run(const FaultEvent& event, std::chrono::duration<double> request,
                              const std::function<void()>& began) {
  constexpr milliseconds kNoticed{50};  // a broken connection is seen by then
  if (!event.at) std::this_thread::sleep_for(event.moment * request * cluster_.dilation());
  const bool is_there = !event.at || wait_for_point();
  began();
  const auto actions = actions_of(event, static_cast<int>(cluster_.names().size()));
  milliseconds passed{0};
  for (const FaultAction& action : actions) {
    if (action.after > passed) {
      // The machine may go on once the first actions are in place; later ones meet it in motion.
      cluster_.breakpoint().release();
      wait(action.after - passed);
      passed = action.after;
    }
    SHOAL_TRY(apply(action));
  }
  cluster_.breakpoint().release();
  if (event.fault == Fault::kCorrupt) wait_until_damaged(actions.front(), event.worker);
  if (event.fault > Fault::kSlow) sleep(kNoticed);
  cluster_.settle();
  return is_there;
}

// Not every worker reaches every point in every plan, so the wait is bounded.
bool FaultRunner::wait_for_point() {
  constexpr std::chrono::duration<double> kLongest{1};
  const auto longest = std::chrono::duration_cast<Clock::duration>(kLongest * cluster_.dilation());
  return cluster_.breakpoint().wait_hit(Clock::now() + longest);
}

Status FaultRunner::apply(const FaultAction& action) {
  using enum FaultAction::Kind;
  const auto worker = static_cast<size_t>(action.machine);
  switch (action.kind) {
    case kKill:
      cluster_.workers().send_signal(worker, SIGKILL);
      break;
    case kRestart:
      return cluster_.workers().restart(worker);
    case kStop:
      cluster_.workers().send_signal(worker, SIGSTOP);
      break;
    case kContinue:
      cluster_.workers().send_signal(worker, SIGCONT);
      break;
    case kSlowDown:
      slowed_ = worker;
      break;
    case kSpeedUp:
      slowed_.reset();
      break;
    case kBlock:
    case kUnblock:
      cluster_.network().cut(action.machine, action.peer, action.kind == kBlock);
      break;
    case kDelay:
      cluster_.network().delay(action.machine, action.peer, action.delay);
      break;
    case kDisconnect:
      cluster_.network().break_off(action.machine, action.peer);
      break;
    case kDamage:
      cluster_.network().damage(action.machine, action.peer);
      break;
  }
  return {};
}

// A slow worker is stopped for nine tenths of the time, in steps too short for it to be missed.
void FaultRunner::wait(milliseconds time) {
  constexpr milliseconds kStopped{90}, kRunning{10};
  if (!slowed_) return sleep(time);
  for (milliseconds passed{0}; passed < time; passed += kStopped + kRunning) {
    cluster_.workers().send_signal(*slowed_, SIGSTOP);
    sleep(kStopped);
    cluster_.workers().send_signal(*slowed_, SIGCONT);
    sleep(kRunning);
  }
}

// The damage takes effect with the next bytes that pass. Workers that exchange nothing are not
// connected; after a while the damage is moved to the way to the coordinator, to which all are.
void FaultRunner::wait_until_damaged(const FaultAction& damage, int worker) {
  constexpr milliseconds kBeats{400}, kStep{5};
  emulate::SharedNetworkFaults& network = cluster_.network();
  for (auto waited = kStep; waited < kBeats && network.is_damaged(damage.machine, damage.peer);
       waited += kStep) {
    sleep(kStep);
  }
  if (!network.take_damage(damage.machine, damage.peer)) return;
  const bool inbound = damage.peer == worker;
  network.damage(inbound ? plan::kCoordinator : worker, inbound ? worker : plan::kCoordinator);
  sleep(kBeats);
}

// In the time of the emulated world.
void FaultRunner::sleep(milliseconds time) const {
  std::this_thread::sleep_for(time * cluster_.dilation());
}

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
    cluster_.settle();  // the last disputes are evaluated
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
