// Requests: decides the fate of requests. Events come in (a request was submitted, a piece arrived,
// a worker failed or was lost, time has passed), and steps come out (send inputs, answer, give up).
// It has no threads, clock or sockets: RequestRunner carries the steps out in real time, a
// simulation in virtual time.
//
// An attempt is one try at a request, by one plan. It has its own number, so that a message of
// another attempt, or a duplicate, is dropped. A service is a set of deployed plans that compute
// the same; a request is submitted to a service.
//
// Load: a plan has a window of attempts that may be in progress (attempt_window.h). Other requests
// of the service wait, clients in turn (fair_queue.h). A request is refused at once, with
// kExhausted, if it could not be answered before its deadline, or if too many wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shoal/base/threads/fair_queue.h"
#include "shoal/cluster/coordinator/policy/answer.h"
#include "shoal/cluster/coordinator/policy/attempt_window.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {

// A plan that is deployed on its workers.
struct DeployedPlan {
  uint64_t id = 0;
  plan::ScheduledPlan scheduled;
};
using DeployedPlanPtr = std::shared_ptr<const DeployedPlan>;

// One try at a request by a plan. The number names it in messages.
struct Attempt {
  DeployedPlanPtr deployed;
  uint64_t id = 0;
};

struct RequestOutcome {
  Status status;
  std::vector<Tensor> outputs;
  Attempt attempt;           // the last
  std::vector<int> awaited;  // after kDeadline: the workers whose outputs did not come
  bool replayed = false;
  // After kExhausted: the time after which another try may be taken. Not zero.
  std::chrono::milliseconds retry_after{0};
};

// The actions that a request needs now.
struct RequestStep {
  std::optional<Attempt> abandon;  // tell its workers to forget it
  std::optional<Attempt> begin;    // send these transfers of its schedule
  std::vector<size_t> sends;
  std::optional<RequestOutcome> end;

  bool empty() const { return !abandon && !begin && !end; }
};

// Not thread-safe.
class Requests {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr size_t kMostWaiting = 128;  // requests of a service
  // Replays of a request, each after another loss. On a busy machine workers that are only late are
  // lost, too, so that one is not enough; a request that crashes its workers must end at some time.
  static constexpr int kMostReplays = 3;

  // Sets the time of the events that follow. If it is never called, the duration of attempts is
  // unknown, and requests are refused by their number only.
  void set_time(Time now) { now_ = now; }

  // Adds a plan that is about to be deployed. A worker that is lost from now on does not have it,
  // even if it comes back, until restore().
  void add(DeployedPlanPtr deployed);
  void remove(uint64_t deployed);  // attempts by it fail

  // Sets the plans of a service, the best first; none removes the service. With `mended`, a request
  // that no plan can answer waits for the next offer.
  void offer(uint64_t service, std::vector<uint64_t> deployed_plans, bool mended = false);
  // Fails requests that wait for an offer, until the next offer.
  void give_up(uint64_t service, const Status& why);
  bool in_use(uint64_t deployed) const;  // an attempt by it is in progress
  bool has_plan(uint64_t deployed) const { return deployed_plans_.contains(deployed); }
  bool is_whole(uint64_t deployed) const { return missing(deployed).empty(); }
  // The workers of a plan that still have it, and those that do not.
  std::vector<int> having(uint64_t deployed) const;
  std::vector<int> missing(uint64_t deployed) const;

  // Begins a request, by the first plan of the service that uses no lost worker of any of its
  // plans; or else by the first that has lost no worker; or else by the first that survives its
  // losses. A request whose plan fails is replayed by another, kMostReplays times. If the window of
  // the plan is full, the request waits or is refused. Clients have arbitrary numbers.
  uint64_t submit(uint64_t service, std::span<const Tensor> inputs, Time deadline,
                  uint64_t client = 0);
  // The actions since the last call. After a step with `end`, the request is forgotten.
  RequestStep step(uint64_t request);
  bool has_step(uint64_t request) const;

  // The type of a piece that has come. nullopt if the attempt is over; kCorrupt if this worker does
  // not send such a piece in the plan.
  Result<std::optional<TensorType>> expect(int worker, uint64_t attempt, const plan::Piece& piece);
  void arrive(uint64_t attempt, const plan::Piece& piece, const Tensor& elements);

  // A worker reports that an attempt failed. If it could not reach another worker (`blamed`, or
  // -1), the plan stops relying on that one. kExhausted means its queue is full: not a fault.
  void fail(int worker, uint64_t attempt, const Status& why, int blamed = -1);
  // `said_by` reports that it no longer receives from `worker`; the plan stops relying on `worker`.
  // Ignored if the plan already stopped relying on `said_by`: when a link breaks, both ends report
  // it, and dropping one of them is enough.
  void cut_off(uint64_t deployed, int worker, int said_by, const Status& why);
  // A worker is lost, with all plans that it had.
  void lose(int worker, const Status& why);
  // A worker has this plan again. Attempts that began without it go on without it.
  void restore(uint64_t deployed, int worker);
  void expire(Time now);
  // Ends the request with kCancelled, unless it is over. Unknown numbers are ignored.
  void cancel(uint64_t request);

  bool knows(uint64_t attempt) const { return attempts_.contains(attempt); }  // is it in progress?
  bool is_replay(uint64_t attempt) const;
  uint64_t request_of(uint64_t attempt) const { return attempts_.at(attempt); }
  Status usable(uint64_t service) const;   // OK, or why none of its plans can answer
  size_t waiting(uint64_t service) const;  // requests that have not begun

 private:
  struct Offered {
    DeployedPlanPtr deployed;
    AttemptWindow window;
    std::set<int> gone = {};  // workers that it cannot rely on
    Status why = {};          // of the last of them
  };
  struct Service {
    std::vector<uint64_t> deployed_plans;
    bool mended = false;
    Status hopeless = {};  // why no better offer will come; OK: it may
  };
  struct Request {
    uint64_t id = 0, service = 0, client = 0;
    std::vector<Tensor> inputs;
    Time deadline, began;  // the latter of the attempt
    std::optional<Answer> answer;
    Attempt attempt;         // no plan: it waits
    std::set<int> gone;      // workers that this attempt cannot rely on
    std::set<int> suspects;  // workers that were not reached in an earlier attempt
    Status why;              // of the last attempt's failure
    int replays = 0;
    bool over = false;
    RequestStep step;
  };

  std::set<int> doubted(const Service& service) const;
  const Offered* choose(const Service& service, const std::set<int>& suspects = {}) const;
  Offered* choose(const Request& request);
  std::optional<AttemptWindow::Duration> refusal(const Request& request);
  void refuse(Request& request, const Status& why, AttemptWindow::Duration retry_after);
  void begin_waiting();
  bool begin_first(uint64_t service, FairQueue& queue);
  void begin(Request& request, Offered& by);
  void learn(const Request& request, int times);
  void leave_window(const Request& request);
  void fail_attempt(Request& request, const Status& why, bool may_replay);
  void abandon(Request& request);
  void end(Request& request, const Status& status);
  static std::vector<int> awaited(const Request& request);
  void count_out(Offered& offered, int worker, const Status& why);
  void reconsider(const Offered& offered);

  Time now_{};
  std::map<uint64_t, Service> services_;
  std::map<uint64_t, Offered> deployed_plans_;
  std::map<uint64_t, FairQueue> queues_;  // by service; none is empty between two events
  std::map<uint64_t, Request> requests_;
  std::map<uint64_t, uint64_t> attempts_;  // the request of each attempt in progress
  uint64_t next_request_ = 1, next_attempt_ = 1;
};

}  // namespace shoal::cluster
