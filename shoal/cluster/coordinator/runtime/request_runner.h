// RequestRunner: carries out the steps that Requests decides on, over the connections to the
// workers, and measures requests on demand.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <stop_token>
#include <vector>

#include "shoal/cluster/coordinator/policy/checks.h"
#include "shoal/cluster/coordinator/policy/requests.h"
#include "shoal/cluster/coordinator/runtime/measurement.h"
#include "shoal/cluster/coordinator/runtime/waker.h"
#include "shoal/cluster/coordinator/runtime/worker_links.h"
#include "shoal/cluster/messages/fault_point.h"

namespace shoal::cluster {

namespace message {
class Checked;
class Cut;
class Data;
class Failed;
class Traced;
}  // namespace message

struct RequestOptions {
  std::chrono::milliseconds timeout{60'000};
  // The client of the request. If requests have to wait, clients take turns; numbers are arbitrary.
  uint64_t client = 0;
  std::stop_token cancel = {};
  plan::Timeline* measured = nullptr;  // gets the times, of a plan that was deployed as traced
  // Set if the request is refused (kExhausted): the time after which to try again.
  std::chrono::milliseconds* retry_after = nullptr;
};

// Counts of requests so far.
struct Tally {
  uint64_t answered = 0, failed = 0, replayed = 0;
  uint64_t refused = 0;         // with kExhausted
  uint64_t resent_to_dead = 0;  // pieces of replayed requests, to workers that did not take them
};

// Thread-safe. Locks are taken in one order: those of the links before that of the runner, which
// therefore never calls the links while it holds its own.
class RequestRunner {
 public:
  // REQUIRES: the links outlive the runner, and are closed before it ends.
  RequestRunner(WorkerLinks& links, std::function<void(FaultPoint, int worker)> reached);

  // Carries a request out on the caller's thread, by one of the service's plans. As
  // RemotePlan::run(); fails with kCancelled soon after a stop is requested of options.cancel.
  Status run(uint64_t service, std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RequestOptions& options);
  Tally tally() const;
  void keep_awake(std::vector<int> workers, std::chrono::milliseconds interval) {
    waker_.watch_over(std::move(workers), interval);
  }
  // Keeps radios awake while the result lives, as during a request.
  std::shared_ptr<void> stay_awake();

  // Checks one request of every `interval` for lies: see Checks. Workers keep the pieces of plans
  // that are encoded from now on.
  void check_every(uint64_t interval);
  bool checks() const { return is_checking_; }
  // Checked requests about which workers contradict each other; watchers are notified of new ones.
  std::vector<DisputedRequest> take_disputed();
  Checks::Tally checks_tally() const;

  // The plans that requests may use: see Requests.
  void add(DeployedPlanPtr deployed);
  void remove(uint64_t plan);
  void offer(uint64_t service, std::vector<uint64_t> plans, bool mended = false);
  void give_up(uint64_t service, const Status& why);
  void restore(uint64_t plan, int worker);
  bool is_whole(uint64_t plan) const;
  bool in_use(uint64_t plan) const;
  std::vector<int> having(uint64_t plan) const;
  std::vector<int> missing(uint64_t plan) const;

  // Registers `watcher` under the key `who`; it is invoked when a worker or a plan is lost. nullptr
  // unregisters it. REQUIRES: the watcher calls neither the runner nor the links.
  void watch(const void* who, std::function<void()> watcher);

  // Messages of workers, on their reader threads. kCorrupt if a message answers no request.
  Status take(int worker, const message::Data& data, const net::Frame& frame);
  // Whether a payload of this size is expected. kCancelled if its request is over.
  Status expect(int worker, const message::Data& data, size_t bytes);
  Status take_times(int worker, const message::Traced& traced);
  void take_failure(int worker, const message::Failed& failed);
  void take_cut(int worker, const message::Cut& cut);
  Status take_report(int worker, const message::Checked& checked);
  void lose(int worker, const Status& why);  // under the lock of the links, as revive()
  void revive(int worker);

 private:
  class Event;

  uint64_t submit(uint64_t service, std::span<const Tensor> inputs, net::Deadline deadline,
                  uint64_t client);
  void cancel(uint64_t request);
  RequestOutcome carry_out(uint64_t request, std::span<const Tensor> inputs, net::Deadline deadline,
                           bool is_measured);
  RequestStep next_step(uint64_t request, net::Deadline deadline, bool is_measured);
  void check_if_drawn(RequestStep& step, std::span<const Tensor> inputs);
  void ask_to_check(const Attempt& attempt) const;
  void measure(const Attempt& attempt);
  void begin(const Attempt& attempt, const std::vector<size_t>& sends,
             std::span<const Tensor> inputs, net::Deadline deadline);
  void post_input(const WorkerLinkPtr& link, const Attempt& attempt, size_t transfer,
                  const Tensor& elements, net::Deadline deadline);
  void send_input(WorkerLink& link, const Attempt& attempt, size_t transfer, const Tensor& elements,
                  net::Deadline deadline);
  bool is_wanted(uint64_t attempt) const;
  bool may_send(uint64_t attempt, size_t transfer, int worker);
  void note_unsent(uint64_t attempt);
  void forget(const Attempt& attempt);
  Status await_times(const Attempt& attempt, net::Deadline deadline, plan::Timeline& measured);
  Status described(const RequestOutcome& outcome) const;
  void tell_watchers() const;
  void wake();

  WorkerLinks& links_;
  const std::function<void(FaultPoint, int)> reached_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;                       // wakes callers that wait for times
  std::map<uint64_t, std::condition_variable*> waiting_;  // callers, by request
  Requests requests_;
  std::set<int> gone_;                            // workers
  std::map<uint64_t, Measurement> measurements_;  // by attempt
  std::atomic<bool> is_checking_ = false;
  Checks checks_;
  Tally tally_;
  std::map<const void*, std::function<void()>> watchers_;
  Waker waker_;  // first to go: it uses the rest
};

}  // namespace shoal::cluster
